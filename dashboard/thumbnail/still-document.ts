import { embedStyles, embedUrls } from './embed-styles.ts'
import { Pacer } from './pacer.ts'
import type { SiteFiles } from './site-files.ts'

/** A document without anything that runs or loads. */
export interface StillDocument {
  /** The document as XHTML. */
  xhtml: string
  css: string
}

/**
 * Bounds of a document: bytes of HTML, elements, style sheets and their characters. The browser draws in one task, which
 * takes longer the more of them there are; what is below the first window is not visible.
 */
const MAX_HTML_BYTES = 300_000
const MAX_ELEMENTS = 1_000
const MAX_STYLE_SHEETS = 20
const MAX_STYLE_LENGTH = 300_000

/** Style elements have another name here, see `renameInline`. */
const STYLE_SHEETS = 'noframes, link[rel~="stylesheet" i]:not([rel~="alternate" i])'

/** Elements that run, load or frame something, or that a page with scripts does not show. */
const REMOVED_ELEMENTS =
  'script, noscript, iframe, frame, frameset, object, embed, applet, portal, template, meta, link, style, noframes, ' +
  'source, track, foreignObject foreignObject, animate, set, animateMotion, animateTransform'

/** Attributes with URLs, and those that need a network or wait for the page to scroll. */
const URL_ATTRIBUTES = new Set([
  ...['src', 'srcset', 'sizes', 'href', 'xlink:href', 'poster', 'background', 'data', 'action', 'formaction'],
  ...['ping', 'cite', 'longdesc', 'manifest', 'srcdoc', 'lowsrc', 'imagesrcset', 'loading', 'codebase'],
])

/** Names that XML allows in an HTML document, where prefixes have no namespace. */
const XML_NAME = /^[A-Za-z_][\w.-]*$/

/** Control characters, which XML does not allow. */
const NOT_IN_XML = /[^\P{Cc}\t\n\r]|[\uFFFE\uFFFF]/gu

/** Reads the document at `path`, and embeds its style sheets, images and fonts that are files of the site. */
export async function readStillDocument(path: string, files: SiteFiles): Promise<StillDocument> {
  const html = await files.readText(path, MAX_HTML_BYTES)
  const parsed = new DOMParser().parseFromString(renameInline(html), 'text/html')
  const css = await collectStyles(parsed, path, files)
  for (const element of parsed.querySelectorAll(REMOVED_ELEMENTS)) element.remove()
  truncate(parsed)
  removeComments(parsed)
  const pacer = new Pacer()
  for (const element of parsed.querySelectorAll('*')) {
    await makeStill(element, path, files)
    await pacer.pause()
  }
  const ownCss = await embedStyles(takeInlineStyles(parsed), path, files)
  const xhtml = new XMLSerializer().serializeToString(parsed.documentElement).replace(NOT_IN_XML, '')
  return { xhtml, css: css + ownCss }
}

/**
 * Renames what this page's security policy forbids, because a parser reports each violation, although nothing of
 * the document is applied or run. `noframes` is parsed like `style`, and `meta` like `base`.
 */
function renameInline(html: string): string {
  return html
    .replace(/<(\/?)style\b/gi, '<$1noframes')
    .replace(/<base\b/gi, '<meta')
    .replace(/([\s"'/])(style|on[a-z]+)(?=\s*=)/gi, '$1data-$2')
}

/** Moves the renamed `style` attributes to rules, which take precedence over those of the site. */
function takeInlineStyles(parsed: Document): string {
  let css = ''
  for (const [at, element] of parsed.querySelectorAll('[data-style]').entries()) {
    const style = element.getAttribute('data-style')!
    element.setAttribute('data-style', String(at))
    css += `:is(#inline-style, [data-style="${at}"]) {${style}}\n`
    if (element === parsed.body) css += `body {${style}}\n`
  }
  return css
}

async function collectStyles(parsed: Document, path: string, files: SiteFiles): Promise<string> {
  const styles: string[] = []
  let length = 0
  for (const element of [...parsed.querySelectorAll(STYLE_SHEETS)].slice(0, MAX_STYLE_SHEETS)) {
    const href = element.getAttribute('href')
    const from = href === null ? path : files.resolve(href, path)
    if (from === undefined) continue
    const room = MAX_STYLE_LENGTH - length
    const css = href === null ? element.textContent : await files.readText(from, room)
    if (css.length > room) break
    length += css.length
    const media = element.getAttribute('media')
    styles.push(await embedStyles(media ? `@media ${media} {${css}}` : css, from, files))
  }
  return styles.join('\n')
}

/** Removes everything after the first elements. */
function truncate(parsed: Document): void {
  const first = parsed.body.querySelectorAll('*')[MAX_ELEMENTS]
  if (!first) return
  const rest = parsed.createRange()
  rest.setStartBefore(first)
  rest.setEndAfter(parsed.body.lastChild!)
  rest.deleteContents()
}

function removeComments(parsed: Document): void {
  const walker = parsed.createTreeWalker(parsed, NodeFilter.SHOW_COMMENT)
  const comments: Node[] = []
  while (walker.nextNode()) comments.push(walker.currentNode)
  for (const comment of comments) comment.parentNode!.removeChild(comment)
}

/** Keeps the attributes that neither run nor load anything, and embeds images. */
async function makeStill(element: Element, path: string, files: SiteFiles): Promise<void> {
  if (!XML_NAME.test(element.localName)) return element.replaceWith(...element.childNodes)
  const image = /^(img|image|input)$/i.test(element.localName) ? findImageUrl(element) : undefined
  for (const { name, namespaceURI } of [...element.attributes]) {
    const value = element.getAttribute(name)!
    const isName = namespaceURI !== null || (XML_NAME.test(name) && name !== 'xmlns')
    const isUrl = URL_ATTRIBUTES.has(name.toLowerCase())
    if (!isName || /^(data-)?on|^style$/i.test(name)) element.removeAttribute(name)
    else if (isUrl && element.localName === 'a') element.setAttribute('href', '#')
    else if (isUrl && !value.startsWith('#')) element.removeAttribute(name)
    else if (name !== 'data-style' && /url\(/i.test(value))
      element.setAttribute(name, await embedUrls(value, path, files))
  }
  if (image === undefined) return
  const data = await files.embed(image, path, /^image\//)
  if (data !== undefined) element.setAttribute(element.localName === 'image' ? 'href' : 'src', data)
}

function findImageUrl(element: Element): string | undefined {
  const names = element.localName === 'image' ? ['href', 'xlink:href'] : ['src']
  const name = names.find((one) => element.hasAttribute(one))
  return name && element.getAttribute(name)!
}
