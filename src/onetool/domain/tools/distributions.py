"""Names of libraries on the package index, by the names of the modules that they contain."""

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


def distribution_of(module: str) -> str:
    """Return the name of the library that contains a module.

    >>> distribution_of("yaml"), distribution_of("google_auth.transport")
    ('pyyaml', 'google-auth')
    """
    name = module.partition(".")[0]
    return DISTRIBUTIONS.get(name, name.replace("_", "-"))
