import { marked, Renderer, type Tokens } from 'marked'
import type { DocsSection } from '../../protocol/docs-section.ts'
import { escapeHtml, Html, html } from '../../server/lib/html.ts'
import { GUIDES } from '../../server/web/guides.ts'
import { documentPage } from './contents.ts'

/** Guides for readers on the machine of a server: their examples keep its local URL. */
const RUN_PAGES: ReadonlySet<string> = new Set(['backup', 'monitoring'])

interface GuideFile {
  /** The name of its file without the extension. */
  name: string
  /** Markdown. */
  source: string
}

interface Heading {
  id: string
  title: string
}

/** The pages of `/docs` in the order of the contents. */
export const PAGE_NAMES = GUIDES.flatMap(([, guides]) => guides.map(({ name }) => name))

/** Whether `/docs` has a page of this name. */
export function isPage(name: string): boolean {
  return PAGE_NAMES.includes(name)
}

/**
 * The text of a guide as a service has it: its URL takes the place of the one in the examples. Parts for readers of the
 * repository are left out, and links to files that a service does not have become text.
 */
export function guideSource({ name, source }: GuideFile): string {
  const served = source
    .replaceAll(/<!-- repository -->[\s\S]*?<!-- end -->/g, '')
    .replaceAll(/^<!-- tested: .* -->\n\n/gm, '')
    .replaceAll(/\[([^\]]*)\]\(([\w./-]*?)\.?(?:md|ts)?(?:#[\w-]*)?\)/g, (link, text, path) =>
      path === '' || path.startsWith('/') || isPage(path) ? link : text,
    )
  return RUN_PAGES.has(name) ? served : served.replaceAll('http://localhost:8080', '{base_url}')
}

/** The content of the page of a guide. HTML in Markdown is escaped. */
export function guideContent(guide: GuideFile): string {
  const headings: Heading[] = []
  const body = marked.parse(guideSource(guide), { renderer: new GuideRenderer(headings), async: false })
  const entries = headings.map(({ id, title }) => html`<li><a href="#${id}">${title}</a></li>`)
  return documentPage(
    guide.name,
    html`${new Html(body)}
        <p class="quiet"><a href="/docs/${guide.name}.md">This page as Markdown</a></p>`,
    entries,
  )
}

/** The sections of a guide for the search: the text from each heading to the next, without markup. */
export function guideEntries(guide: GuideFile): DocsSection[] {
  const entries: DocsSection[] = []
  for (const token of marked.lexer(guideSource(guide))) {
    if (token.type === 'heading') {
      const title = headingTitle(token.text)
      entries.push({ page: guide.name, id: entries.length === 0 ? '' : toAnchor(title), title, text: '' })
    } else if (token.type !== 'space') {
      const text = token.raw.replaceAll(/[`*|\\]|\]\([^)\s]*\)|^[-|: ]+$/gm, ' ')
      entries.at(-1)!.text += `${text} `
    }
  }
  return entries.map((entry) => ({ ...entry, text: entry.text.replaceAll(/\s+/g, ' ').trim() }))
}

/** Headings get anchors as on GitHub; links between guides lead to their pages, others out of `docs/` are text. */
class GuideRenderer extends Renderer {
  readonly #headings: Heading[]

  constructor(headings: Heading[]) {
    super()
    this.#headings = headings
  }

  override heading({ tokens, depth, text }: Tokens.Heading): string {
    const title = headingTitle(text)
    const id = toAnchor(title)
    if (depth === 2) this.#headings.push({ id, title })
    return html`<h${depth} id="${id}">${new Html(this.parser.parseInline(tokens))}</h${depth}>\n`.text
  }

  override link({ href, tokens }: Tokens.Link): string {
    const text = this.parser.parseInline(tokens)
    const [, name, anchor = ''] = /^(\w+)\.md(#[\w-]+)?$/.exec(href) ?? []
    const target = name !== undefined && isPage(name) ? `/docs/${name}${anchor}` : href
    return /^(https?:\/\/|\/|#)/.test(target) ? html`<a href="${target}">${new Html(text)}</a>`.text : text
  }

  override table(token: Tokens.Table): string {
    return `<div class="table">${super.table(token)}</div>`
  }

  override image({ text }: Tokens.Image): string {
    return escapeHtml(text)
  }

  override html({ text }: Tokens.HTML | Tokens.Tag): string {
    return escapeHtml(text)
  }
}

export function headingTitle(text: string): string {
  return text.replaceAll(/[`*]/g, '')
}

/** The anchor of a heading, as on GitHub. */
export function toAnchor(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-')
}
