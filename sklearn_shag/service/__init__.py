"""The web service: a WSGI application that parses, and a page that shows its trees.

What other folders use of it is listed here, too.
"""

from sklearn_shag.service._annotation_app import AnnotationApp
from sklearn_shag.service._app import make_app
from sklearn_shag.service._models import make_examples, name_models, open_served
from sklearn_shag.service._server import AppServer

__all__ = ["make_app"]
