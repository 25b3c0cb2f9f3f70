#!/usr/bin/env python3
"""Our client and servers that others have written, over stdio and over HTTP where they offer both.

KEEL_BIN names the folder of test-caller. Without it build/release/bin is used.
"""

# ctest-labels: release_only
# ctest-timeout: 300

import keel_process as kp
from servers.talk import MODERN, OverHttp, OverStdio, SdkConversation, ServerTest


class V1Stdio(OverStdio, SdkConversation, ServerTest):
    script = "v1.mjs"


class V1Http(OverHttp, SdkConversation, ServerTest):
    script = "v1.mjs"


class V2Stdio(OverStdio, SdkConversation, ServerTest):
    script = "v2.mjs"
    version = MODERN


class V2Http(OverHttp, SdkConversation, ServerTest):
    script = "v2.mjs"
    version = MODERN


class V2StdioLegacy(OverStdio, SdkConversation, ServerTest):
    script = "v2.mjs"
    options = {"mode": "legacy"}


class V2HttpLegacy(OverHttp, SdkConversation, ServerTest):
    script = "v2.mjs"
    options = {"mode": "legacy"}


if __name__ == "__main__":
    kp.main()
