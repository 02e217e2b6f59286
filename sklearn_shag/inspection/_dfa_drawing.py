"""Deterministic automata as text, as graphs, and in the language of Graphviz."""

from sklearn_shag.utils._messages import printable
from sklearn_shag.utils._networkx import new_graph

_SHOWN = 3  # prefixes of a state


def draw_text(dfa):
    """List states and transitions, a line each."""
    states = dfa.states
    lines = [
        f"{dfa.head}, {dfa.direction}: {len(states.visits)} states of {dfa.n_clusters} clusters, "
        f"paths for {dfa.coverage:.0%} of {dfa.n_sequences} sequences"
    ]
    for state, prefixes in enumerate(states.prefixes):
        examples = ", ".join(" ".join(prefix) or "(none)" for prefix in prefixes[:_SHOWN])
        more = ", ..." if len(prefixes) > _SHOWN else ""
        lines.append(f"state {state}, visits {states.visits[state]}, after {examples}{more}")
        lines.append(f"    {states.stop_probabilities[state]:.2f} STOP")
        lines.extend(
            f"    {probability:.2f} {symbol} -> {target}"
            for source, symbol, target, _, probability in zip(*dfa.transitions, strict=True)
            if source == state
        )
    return "\n".join(printable(line, max_length=None) for line in lines)


def make_graph(dfa):
    """Make a networkx.MultiDiGraph."""
    graph = new_graph("MultiDiGraph", head=dfa.head, direction=dfa.direction, initial=0)
    for state, (visits, stops, probability, prefixes) in enumerate(zip(*dfa.states, strict=True)):
        graph.add_node(
            state,
            visits=int(visits),
            stops=int(stops),
            stop_probability=float(probability),
            prefixes=prefixes,
        )
    for source, symbol, target, count, probability in zip(*dfa.transitions, strict=True):
        graph.add_edge(
            int(source),
            int(target),
            key=symbol,
            symbol=symbol,
            count=int(count),
            probability=float(probability),
        )
    return graph


def draw_dot(dfa):
    """Write a digraph in the language of Graphviz."""
    lines = ["digraph {", "rankdir=LR;", "node [shape=circle];", "start [shape=point];"]
    lines.append("start -> 0;")
    for state, (_, stops, probability, _) in enumerate(zip(*dfa.states, strict=True)):
        border = ", peripheries=2" if stops else ""
        lines.append(f'{state} [label="{state}\\nSTOP {probability:.2f}"{border}];')
    labels = {}
    for source, symbol, target, _, probability in zip(*dfa.transitions, strict=True):
        name = symbol.replace("\\", "\\\\").replace('"', '\\"')
        labels.setdefault((source, target), []).append(f"{name} {probability:.2f}")
    for (source, target), names in labels.items():
        label = "\\n".join(names)
        lines.append(f'{source} -> {target} [label="{label}"];')
    return "\n".join([*lines, "}"])
