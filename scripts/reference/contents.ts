import { type Html, html } from '../../server/lib/html.ts'

/** The contents of a page, folded: the page's script opens them where they are beside the text. */
export function contentsList(entries: Html[], filter?: Html): Html {
  return html`<nav class="contents" aria-label="Contents">
        ${filter}
        <details>
          <summary>Contents</summary>
          <ul>
            ${entries}
          </ul>
        </details>
      </nav>`
}
