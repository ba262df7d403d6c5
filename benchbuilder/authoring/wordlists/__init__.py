"""Word lists: made of other lists, looked for in the sources of a recipe, reviewed by people."""
