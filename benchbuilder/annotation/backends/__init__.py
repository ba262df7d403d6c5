"""Where votes come from: the app, annotation sheets, or nowhere."""
