import { marked, Renderer, type Tokens } from 'marked'
import { escapeHtml, Html, html } from '../../server/lib/html.ts'
import { contentsList } from './contents.ts'

/** The guides of `docs/` that a service has, with their names in the contents. */
const GUIDES: Record<string, string> = {
  publish: 'Publishing',
  domains: 'Domains',
  agents: 'Agents',
  ci: 'Publishing from CI',
  run: 'Running a server',
  operate: 'Operating a server',
  security: 'Security',
  glossary: 'Glossary',
}

interface Guide {
  /** The name of its file without the extension. */
  name: string
  /** Markdown. */
  source: string
}

interface Heading {
  id: string
  title: string
}

/** All guides in one text, in the order of the contents. */
export function allGuides(guides: readonly Guide[]): string {
  const sources = new Map(guides.map((guide) => [guide.name, guideSource(guide)]))
  return Object.keys(GUIDES)
    .flatMap((name) => sources.get(name)?.trim() ?? [])
    .join('\n\n---\n\n')
}

/** Whether a service has this guide of `docs/`. */
export function isGuide(name: string): boolean {
  return Object.hasOwn(GUIDES, name)
}

/**
 * The text of a guide as a service has it: its URL takes the place of the one in the examples. Parts for readers of the
 * repository are left out, and links to files that a service does not have become text.
 */
export function guideSource({ name, source }: Guide): string {
  const served = source
    .replaceAll(/<!-- repository -->[\s\S]*?<!-- end -->/g, '')
    .replaceAll(/^<!-- tested: .* -->\n\n/gm, '')
    .replaceAll(/\[([^\]]*)\]\(([\w./-]*?)\.?(?:md|ts)?(?:#[\w-]*)?\)/g, (link, text, path) =>
      path === '' || path.startsWith('/') || isGuide(path) ? link : text,
    )
  return name === 'run' ? served : served.replaceAll('http://localhost:8080', '{base_url}')
}

/** The content of the page of a guide. HTML in Markdown is escaped. */
export function guideContent(guide: Guide, names: readonly string[]): string {
  const headings: Heading[] = []
  const renderer = new GuideRenderer(names, headings)
  const body = marked.parse(guideSource(guide), { renderer, async: false })
  return html`<div class="with-contents">
      ${contentsList([...guideLinks(names, guide.name, headings), html`<li><a href="/docs">API reference</a></li>`])}
      <main id="reference" tabindex="-1" class="page stack guide">
        ${new Html(body)}
        <p class="quiet"><a href="/docs/${guide.name}.md">This page as Markdown</a></p>
      </main>
    </div>`.text
}

/** Entries of the contents for the guides; those of `current` follow its name. */
export function guideLinks(names: readonly string[], current?: string, headings: Heading[] = []): Html[] {
  const entry = ({ id, title }: Heading) => html`<li><a href="#${id}">${title}</a></li>`
  return Object.keys(GUIDES)
    .filter((name) => names.includes(name))
    .map((name) =>
      name === current
        ? html`<li><a href="/docs/${name}" aria-current="page">${GUIDES[name]}</a><ul>${headings.map(entry)}</ul></li>`
        : html`<li><a href="/docs/${name}">${GUIDES[name]}</a></li>`,
    )
}

/** Headings get anchors as on GitHub; links between guides lead to their pages, others out of `docs/` are text. */
class GuideRenderer extends Renderer {
  readonly #names: readonly string[]
  readonly #headings: Heading[]

  constructor(names: readonly string[], headings: Heading[]) {
    super()
    this.#names = names
    this.#headings = headings
  }

  override heading({ tokens, depth, text }: Tokens.Heading): string {
    const title = text.replaceAll(/[`*]/g, '')
    const id = title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(/\s/g, '-')
    if (depth === 2) this.#headings.push({ id, title })
    return html`<h${depth} id="${id}">${new Html(this.parser.parseInline(tokens))}</h${depth}>\n`.text
  }

  override link({ href, tokens }: Tokens.Link): string {
    const text = this.parser.parseInline(tokens)
    const [, name, anchor = ''] = /^(\w+)\.md(#[\w-]+)?$/.exec(href) ?? []
    const target = name !== undefined && this.#names.includes(name) ? `/docs/${name}${anchor}` : href
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
