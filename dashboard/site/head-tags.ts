/** What counts in a head: a comment, a tag of `meta`, an element that holds text and no tags, the end of the head. */
const NEXT =
  /<(?:(!--)|meta\b((?:[^>"']|"[^"]*"|'[^']*'){0,4000})>|(title|script|style|template|noscript)\b[^>]{0,4000}>|(?:body|\/head)\b)/gi

const ATTRIBUTE = /([^\s"'=<>/]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]*))?/g

const KEPT_ATTRIBUTES = /^(name|property|content)$/i

/**
 * The `title` and `meta` tags in the head of an HTML document, with nothing else and no other attributes. A browser that parses
 * a whole document of somebody else's holds its styles to be this page's own, and reports them as forbidden.
 */
export function headTags(html: string): string {
  const tags: string[] = []
  NEXT.lastIndex = 0
  for (let found = NEXT.exec(html); found; found = NEXT.exec(html)) {
    const [, comment, attributes, holder] = found
    if (attributes !== undefined) tags.push(`<meta ${keptOf(attributes)}>`)
    else if (comment || holder) {
      const start = NEXT.lastIndex
      const end = placeOf(comment ? '-->' : `</${holder}`, html, start)
      if (end < 0) break
      if (holder?.toLowerCase() === 'title') tags.push(`<title>${html.slice(start, end)}</title>`)
      NEXT.lastIndex = end
    } else break
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
