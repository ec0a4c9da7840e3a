import { type Html, html } from '../../server/lib/html.ts'
import { GUIDES } from '../../server/web/guides.ts'

/**
 * The contents of a page of `/docs`: all pages by task, with `entries` below the current one. They are folded: the
 * page's script opens them where they are beside the text, and shows the search.
 */
export function contentsList(current: string | undefined, entries: readonly Html[] = []): Html {
  const page = ({ name, title }: { name: string; title: string }) =>
    name === current
      ? html`<li><a href="/docs/${name}" aria-current="page">${title}</a><ul>${entries}</ul></li>`
      : html`<li><a href="/docs/${name}">${title}</a></li>`
  const tasks = GUIDES.map(([task, guides]) => html`<li><b>${task}</b><ul>${guides.map(page)}</ul></li>`)
  return html`<nav class="contents" aria-label="Contents">
        <form class="search" role="search" hidden>
          <label>Search <input type="search" autocomplete="off" spellcheck="false" aria-controls="results"></label>
        </form>
        <details>
          <summary>Contents</summary>
          <ul>
            ${tasks}
          </ul>
        </details>
      </nav>`
}

/** The frame of a page of `/docs`: `content` beside the contents. */
export function documentPage(current: string | undefined, content: Html, entries?: readonly Html[]): string {
  return html`<div class="with-contents">
      ${contentsList(current, entries)}
      <main id="reference" tabindex="-1" class="page stack guide">
        <section id="results" class="stack" aria-live="polite" aria-label="Results" hidden></section>
        ${content}
      </main>
    </div>`.text
}
