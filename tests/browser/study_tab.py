"""What tests of a study's page look at, and what they type."""


def title(tab, view):
    """The title of a view."""
    return tab.locator(f'[data-view="{view}"] .as-frame__title > :first-child')


def enter(tab, control, text):
    """Type a value into the field of a control."""
    field = tab.locator(f"#as-c-{control}")
    field.fill(text)
    field.press("Enter")
