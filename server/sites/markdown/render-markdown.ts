import { Marked, type Tokens } from 'marked'
import { truncate } from '../../../protocol/format.ts'
import { escapeHtml } from '../../lib/html.ts'
import { findTitle } from './title.ts'

/** HTML that runs nothing. */
export type RenderedMarkdown = ReturnType<typeof renderMarkdown>

const MAX_ID_LENGTH = 100

/**
 * CommonMark, with the tables and strikethrough of GitHub. HTML is shown as text; links and images lead to http, https
 * and mailto addresses and to the files of the site. May take long for hostile input.
 */
export function renderMarkdown(source: string) {
  const ids = new Map<string, number>()
  const markdown = new Marked({
    gfm: true,
    renderer: {
      html: ({ text }) => escapeHtml(text),
      heading({ depth, tokens, text }) {
        const inner = this.parser.parseInline(tokens)
        return `<h${depth} id="${escapeHtml(uniqueId(text, ids))}">${inner}</h${depth}>\n`
      },
      link({ href, tokens }) {
        const inner = this.parser.parseInline(tokens)
        return isAllowed(href) ? `<a href="${escapeHtml(href)}">${inner}</a>` : inner
      },
      image({ href, text }) {
        return isAllowed(href)
          ? `<img src="${escapeHtml(href)}" alt="${escapeHtml(text)}" loading="lazy">`
          : escapeHtml(text)
      },
      code({ text }) {
        return `<pre tabindex="0"><code>${escapeHtml(text)}\n</code></pre>\n`
      },
      table({ header, rows }) {
        const cell = (tag: string) => (one: Tokens.TableCell) =>
          `<${tag}>${this.parser.parseInline(one.tokens)}</${tag}>`
        const row = (tag: string) => (cells: Tokens.TableCell[]) =>
          `<tr>${cells.map(cell(tag)).join('')}</tr>\n`
        return `<div class="table" tabindex="0"><table>\n${row('th')(header)}${rows.map(row('td')).join('')}</table></div>\n`
      },
    },
  })
  return { html: markdown.parse(source.replace(/^\uFEFF/, ''), { async: false }), title: findTitle(source) }
}

/** Schemes that neither run a script nor hide where they lead. */
const ALLOWED_SCHEMES = new Set(['http:', 'https:', 'mailto:'])

/** A URL without a scheme is relative to the site. */
function isAllowed(href: string): boolean {
  const url = URL.parse(href, 'https://site.invalid/')
  return url !== null && ALLOWED_SCHEMES.has(url.protocol)
}

/** As GitHub links to headings: words with hyphens, and a number from the second one. */
function uniqueId(text: string, ids: Map<string, number>): string {
  const words = text.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, '')
  const id = truncate(words.trim().replace(/\s/g, '-'), MAX_ID_LENGTH)
  const earlier = ids.get(id) ?? 0
  ids.set(id, earlier + 1)
  return earlier === 0 ? id : `${id}-${earlier}`
}
