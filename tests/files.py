"""Files that tests read."""


def write_files(folder, texts):
    """Write texts by their names, in a folder and in folders of it."""
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
