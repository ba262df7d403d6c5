"""A local service that speaks the OpenAI protocol and misbehaves on purpose."""
