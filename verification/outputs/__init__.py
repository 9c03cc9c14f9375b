"""What other programs read: JUnit XML, SARIF, Markdown, badges.

Each output is a function of a list of findings, and knows nothing of how they were computed.
Whatever a claims file holds is shown there as text: nothing of it is markup, a link or a script.
"""

from __future__ import annotations

from rdpkit.verification.outputs.badge import badge_json, badge_svg
from rdpkit.verification.outputs.junit import junit_xml
from rdpkit.verification.outputs.markdown import summary
from rdpkit.verification.outputs.sarif import sarif

__all__ = ["badge_json", "badge_svg", "junit_xml", "sarif", "summary"]
