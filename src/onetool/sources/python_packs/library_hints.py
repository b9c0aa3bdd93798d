"""What to add to a pack file that imports a missing library."""

MARKER = "# /// script"
"""The first line of the inline metadata of a file."""
DISTRIBUTIONS = {
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python",
    "dateutil": "python-dateutil",
    "docx": "python-docx",
    "dotenv": "python-dotenv",
    "fitz": "pymupdf",
    "git": "gitpython",
    "jwt": "pyjwt",
    "magic": "python-magic",
    "PIL": "pillow",
    "pptx": "python-pptx",
    "serial": "pyserial",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}
"""Names of libraries on the package index that differ from the names of their modules."""


def missing_library_hint(module: str, *, has_metadata: bool) -> str:
    """Return what to add to a pack file, so that it can import a module."""
    name = module.partition(".")[0]
    library = DISTRIBUTIONS.get(name, name.replace("_", "-"))
    if has_metadata:
        return f'Add "{library}" to the dependencies at the top of the file.'
    block = f'{MARKER}\n# dependencies = ["{library}"]\n# ///'
    return f"If it is a library, add these lines at the top of the file:\n{block}"
