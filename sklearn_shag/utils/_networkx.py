"""Graphs for networkx, which is optional."""


def new_graph(kind, **attributes):
    """Make an empty graph of networkx.

    Parameters
    ----------
    kind : str
        The name of its class, such as "DiGraph".
    **attributes
        Of the graph.

    Returns
    -------
    graph : networkx.Graph

    Raises
    ------
    ImportError
        If networkx is not installed.
    """
    try:
        import networkx
    except ImportError:
        raise ImportError(
            "to_networkx needs networkx: pip install 'sklearn-shag[graph]'."
        ) from None
    return getattr(networkx, kind)(**attributes)
