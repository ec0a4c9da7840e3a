/** @jsxImportSource preact */
import { agentText } from '../../protocol/agent-text.ts'
import { archiveCall, command } from './commands.ts'

// What the front page shows to every reader. These components have no state, because the build renders them into the
// HTML of the front page too (`dashboard/prerender.ts`): for readers without scripts, and for the first paint.

export const HEADLINE = 'Drop a folder. Get a live site.'
export const LEAD = 'Publish a static site in seconds. No account needed.'

/** A folder that becomes a live site, without words. */
export function DropAnimation() {
  return (
    <svg class="drop-animation" viewBox="0 0 240 120" width="240" height="120" aria-hidden="true">
      <g class="window">
        <rect x="96" y="12" width="136" height="96" rx="8" />
        <path d="M96 34h136" />
        <rect class="url" x="110" y="19" width="72" height="8" rx="4" />
        <path class="content" d="M112 52h64M112 66h104M112 80h88" />
      </g>
      <path class="dropped" d="M8 48h20l6 6h30v34H8z" />
      <path class="live" d="M206 23l4 4 8-9" />
    </svg>
  )
}

const PROOFS = [
  ['Live in 0.1 s', 'A small site is online a tenth of a second after the drop.'],
  ['Atomic', 'Visitors see the old version or the new one, never a mix.'],
  ['Instant rollback', 'Every publish is a version. Restore an earlier one in one click.'],
] as const

export function Proofs() {
  return (
    <ul class="proofs">
      {PROOFS.map(([title, sentence]) => (
        <li key={title}>
          <p class="title">{title}</p>
          <p class="quiet">{sentence}</p>
        </li>
      ))}
    </ul>
  )
}

interface StaticFrontPageProps {
  baseUrl: string
  /** Lifetime of a site without an owner, as text. */
  lifetime: string
}

/** The front page without scripts; the application takes its place. */
export function StaticFrontPage({ baseUrl, lifetime }: StaticFrontPageProps) {
  return (
    <>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <header class="top">
        <a class="home" href="/">
          <img src="/favicon.svg" alt="" width={24} height={24} />
          <span>Slipway</span>
        </a>
        <nav aria-label="Slipway">
          <a href="/docs">Docs</a>
          <a href="/sign-in">Sign in</a>
        </nav>
      </header>
      <main id="main" class="page stack wide">
        <div class="stack tight">
          <div class="page-head">
            <h1>{HEADLINE}</h1>
            <div class="choices">
              <DropAnimation />
            </div>
          </div>
          <p class="lead">{LEAD}</p>
        </div>
        <div class="stack wide without-scripts">
          <Way
            title="Browser"
            sentence="Open this page with JavaScript, and drop a folder, files or a ZIP on it."
          />
          <Way title="Command line" sentence="Needs Node 18 or later." code={command(baseUrl)} />
          <Way
            title="API"
            sentence="One request publishes a tar, tar.gz or ZIP."
            code={archiveCall(baseUrl)}
          />
          <Way title="AI agent" sentence="Paste this text." code={agentText({ baseUrl, lifetime })} />
          <Proofs />
          <p>
            Claim a site from the command line: <code>slipway claim 'CLAIM LINK'</code>. Everything else is in
            the <a href="/docs">docs</a>.
          </p>
        </div>
      </main>
    </>
  )
}

function Way({ title, sentence, code }: { title: string; sentence: string; code?: string }) {
  return (
    <section class="stack tight">
      <h2>{title}</h2>
      <p class="quiet">{sentence}</p>
      {code !== undefined && (
        <pre>
          <code>{code}</code>
        </pre>
      )}
    </section>
  )
}
