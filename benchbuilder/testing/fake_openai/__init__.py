"""A local service that speaks the OpenAI protocol and misbehaves on request; it needs the extra ``openai``."""
