"""HTML and SVG: elements, charts and the style sheet that the report, the page and notebooks share."""
