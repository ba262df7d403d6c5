"""How people are asked, and how their votes come back."""
