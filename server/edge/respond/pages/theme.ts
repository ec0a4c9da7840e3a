/** Colors and type of generated pages, for light and dark color schemes. */
export const THEME = `
:root{color-scheme:light dark;--ink:#1c2330;--soft:#5d6778;--paper:#f6f7f9;--card:#fff;--line:#dde1e8;--deep:#14538c}
@media (prefers-color-scheme:dark){:root{--ink:#e8ebf0;--soft:#9aa5b5;--paper:#12161d;--card:#1a2029;--line:#2c3542;--deep:#7cb7ec}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:1rem/1.6 system-ui,sans-serif}
:focus-visible{outline:3px solid var(--deep);outline-offset:2px}
`
