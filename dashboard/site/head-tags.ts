/** Relevant tokens of a head: comments, tags of interest, elements with raw text, and what ends the head. */
const OPENING = /<(?:(!--)|(meta|title|script|style|template|noscript|body|\/head)\b)/gi

/** A tag from after its name to its end. */
const REST = /((?:[^>"']|"[^"]*"|'[^']*'){0,4000})>/y

const ATTRIBUTE = /([^\s"'=<>/]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]*))?/g

const KEPT_ATTRIBUTES = /^(name|property|content)$/i

/**
 * The `title` and `meta` tags in the head of an HTML document, without other attributes. Parsing a whole
 * untrusted document with the browser's parser would apply the page's CSP to its styles and report
 * violations; parse5, the parser of the server, is too large for a page. An unclosed construct
 * ends parsing.
 */
export function extractHeadTags(html: string): string {
  const tags: string[] = []
  OPENING.lastIndex = 0
  for (let found = OPENING.exec(html); found; found = OPENING.exec(html)) {
    const [, comment, name = ''] = found
    const holder = name.toLowerCase()
    if (/body|head/.test(holder)) break
    REST.lastIndex = OPENING.lastIndex
    const attributes = comment ? '' : REST.exec(html)?.[1]
    if (attributes === undefined) break
    const start = comment ? OPENING.lastIndex : REST.lastIndex
    const end = holder === 'meta' ? start : findMark(comment ? '-->' : `</${holder}`, html, start)
    if (end < 0) break
    if (holder === 'meta') tags.push(`<meta ${keepAttributes(attributes)}>`)
    if (holder === 'title') tags.push(`<title>${html.slice(start, end)}</title>`)
    OPENING.lastIndex = end
  }
  return tags.join('')
}

function keepAttributes(attributes: string): string {
  return [...attributes.matchAll(ATTRIBUTE)]
    .filter(([, name]) => KEPT_ATTRIBUTES.test(name!))
    .map(([, name, value = '""']) => `${name}=${value}`)
    .join(' ')
}

/** The next position of the mark, ignoring case; negative when there is none. */
function findMark(mark: string, html: string, from: number): number {
  const found = html.slice(from).search(new RegExp(mark, 'i'))
  return found < 0 ? found : from + found
}
