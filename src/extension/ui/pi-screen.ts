/** Our screens on Pi's: an overlay over everything that is visible, so that nothing of it stays when it closes. */
import type { ExtensionUIContext } from "@mariozechner/pi-coding-agent";
import { fitColumns } from "../sdk.ts";
import { keyOf, type Screen, type ScreenHost } from "./screen-port.ts";

export async function overPi(ui: ExtensionUIContext, make: (host: ScreenHost) => Screen): Promise<void> {
  await ui.custom<undefined>(
    (tui, theme, _keys, done) => {
      const screen = make({
        rows: () => tui.terminal.rows,
        paint: {
          strong: (text) => theme.bold(text),
          dim: (text) => theme.fg("dim", text),
          accent: (text) => theme.fg("accent", text),
          warning: (text) => theme.fg("warning", text),
          error: (text) => theme.fg("error", text),
        },
        fit: fitColumns,
        redraw: () => tui.requestRender(),
        copy: (text) => tui.terminal.write(`\u001b]52;c;${Buffer.from(text).toString("base64")}\u0007`),
        close: () => done(undefined),
      });
      return {
        render: (columns) => screen.render(columns),
        handleInput(data) {
          const key = keyOf(data);
          if (key !== undefined) screen.press(key);
        },
        invalidate: () => undefined,
        dispose: () => screen.dispose(),
      };
    },
    { overlay: true, overlayOptions: { width: "100%", maxHeight: "100%", anchor: "top-left" } },
  );
}
