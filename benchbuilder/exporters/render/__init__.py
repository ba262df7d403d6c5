"""What pages share: templates, strings by language, tables and SVG charts."""
