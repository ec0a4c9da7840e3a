/** What counts in a head: a comment, tags of interest, elements that hold text and no tags, and what ends the head. */
const OPENING = /<(?:(!--)|(meta|title|script|style|template|noscript|body|\/head)\b)/gi

/** A tag from behind its name to its end. */
const REST = /((?:[^>"']|"[^"]*"|'[^']*'){0,4000})>/y

const ATTRIBUTE = /([^\s"'=<>/]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]*))?/g

const KEPT_ATTRIBUTES = /^(name|property|content)$/i

/**
 * The `title` and `meta` tags in the head of an HTML document, with nothing else and no other attributes. A browser that parses
 * a whole document of somebody else's holds its styles to be this page's own, and reports them as forbidden. What is not closed
 * ends the reading.
 */
export function headTags(html: string): string {
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
    const end = holder === 'meta' ? start : placeOf(comment ? '-->' : `</${holder}`, html, start)
    if (end < 0) break
    if (holder === 'meta') tags.push(`<meta ${keptOf(attributes)}>`)
    if (holder === 'title') tags.push(`<title>${html.slice(start, end)}</title>`)
    OPENING.lastIndex = end
  }
  return tags.join('')
}

function keptOf(attributes: string): string {
  return [...attributes.matchAll(ATTRIBUTE)]
    .filter(([, name]) => KEPT_ATTRIBUTES.test(name!))
    .map(([, name, value = '""']) => `${name}=${value}`)
    .join(' ')
}

/** Where the mark stands next, in whatever case; negative when nowhere. */
function placeOf(mark: string, html: string, from: number): number {
  const found = html.slice(from).search(new RegExp(mark, 'i'))
  return found < 0 ? found : from + found
}
