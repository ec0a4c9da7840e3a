import { Pacer } from './pacer.ts'
import type { SiteFiles } from './site-files.ts'

/** Types of files that style sheets embed. */
const EMBEDDED_TYPES = /^(image|font)\/|^application\/(font|x-font)/

/** URLs in serialized CSS. Custom properties keep the quotes of their source. */
const CSS_URL = /url\(\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^"'()\s]+))\s*\)/gis

/** Imports, which constructed style sheets do not support. Their URLs can contain semicolons. */
const CSS_IMPORT = /@import\s*(?:url\(\s*)?(?:"[^"]*"|'[^']*'|[^)\s]*)[^;]*;?/gi

/** An empty image. */
const EMPTY_URL = 'url("data:,")'

/** Selectors of the elements whose background covers the viewport. */
const CANVAS_SELECTORS = ['body', 'html', ':root']

/** Style sheets with the files of the site embedded, without imports and other URLs. */
export async function embedStyles(css: string, from: string, files: SiteFiles): Promise<string> {
  const sheet = new CSSStyleSheet()
  sheet.replaceSync(css.replace(CSS_IMPORT, ''))
  const pacer = new Pacer()
  const rules: string[] = []
  for (const { cssText } of sheet.cssRules) {
    rules.push(cssText)
    await pacer.pause()
  }
  return embedUrls(canvasStyles(sheet.cssRules) + rules.join('\n'), from, files)
}

/** Declarations with the files of the site embedded, without other URLs. */
export async function embedUrls(css: string, from: string, files: SiteFiles): Promise<string> {
  const embedded: string[] = []
  for (const match of css.matchAll(CSS_URL)) {
    const url = findUrl(match)
    const data = url.startsWith('#') ? url : await files.embed(url, from, EMBEDDED_TYPES)
    embedded.push(data === undefined ? EMPTY_URL : `url("${data.replaceAll('"', '%22')}")`)
  }
  let at = 0
  return css.replace(CSS_URL, () => embedded[at++]!)
}

function findUrl([, double, single, bare]: ArrayLike<string> & Iterable<string>): string {
  return double ?? single ?? bare ?? ''
}

/**
 * In a page, the background of `body` and `html` covers the viewport, and the font size of `html` is the unit
 * `rem`. In the drawing both are properties of the SVG.
 */
function canvasStyles(rules: CSSRuleList): string {
  let styles = ''
  for (const rule of rules) {
    if (rule instanceof CSSStyleRule) {
      const selectors = rule.selectorText.split(',').map((selector) => selector.trim())
      const selector = CANVAS_SELECTORS.findLast((one) => selectors.includes(one))
      if (selector === undefined) continue
      const background = rule.style.background || rule.style.backgroundColor
      const fontSize = selector === 'body' ? '' : rule.style.fontSize
      if (background) styles += `svg:root{background:${background}}\n`
      if (fontSize) styles += `svg:root{font-size:${fontSize}}\n`
    } else if (rule instanceof CSSMediaRule) {
      styles += `@media ${rule.conditionText}{${canvasStyles(rule.cssRules)}}\n`
    } else if (rule instanceof CSSGroupingRule) {
      styles += canvasStyles(rule.cssRules)
    }
  }
  return styles
}
