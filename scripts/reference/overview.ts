import { html } from '../../server/lib/html.ts'
import { GUIDES, type Guide } from '../../server/web/guides.ts'
import { documentPage } from './contents.ts'

/** The content of `/docs`: all pages by task. */
export function overviewContent(): string {
  const entry = ({ name, title, about }: Guide) =>
    html`<li><a href="/docs/${name}">${title}</a> <span class="quiet">${about}</span></li>`
  const tasks = GUIDES.map(
    ([task, guides]) => html`<section class="stack">
          <h2>${task}</h2>
          <ul class="overview">${guides.map(entry)}</ul>
        </section>`,
  )
  return documentPage(
    undefined,
    html`<h1>Documentation</h1>
        <p class="lead">Publish a folder and get its URL. No account is needed.</p>
        <pre><code>{npx} publish ./folder</code></pre>
        <p>Without Node.js, send an archive or an HTML page:</p>
        <pre><code>curl -T site.zip {base_url}</code></pre>
        ${tasks}`,
  )
}
