/** @jsxImportSource preact */
import { Footer, HomeLink, PUBLIC_LINKS, SkipLink } from '../app/frame-parts.tsx'
import { archiveCall, claimCommand, command } from './commands.ts'

// What the front page shows to every reader. These components have no state, because the build renders them into the
// HTML of the front page too (`dashboard/prerender.ts`): for readers without scripts, and for the first paint.

export const HEADLINE = 'Drop a folder. Get a live site.'

/** A folder that becomes a live site: an example of a result. */
export function DropAnimation() {
  return (
    <svg class="drop-animation" viewBox="0 0 240 120" width="240" height="120" aria-hidden="true">
      <g class="window">
        <rect x="96" y="12" width="136" height="96" rx="8" />
        <path d="M96 34h136" />
        <rect class="url" x="106" y="17" width="80" height="12" rx="6" />
        <text class="example-url" x="113" y="26">
          bakery.example
        </text>
        <text x="109" y="58">
          Marlow Street Bakery
        </text>
        <path class="content" d="M112 74h104M112 88h88" />
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
  /** The name of the service. */
  name: string
  baseUrl: string
  /** See `frontLead`. */
  lead: string
  /** See `agentText`. */
  instructions: string
  /** The version of the service. */
  version: string
  /** Links to documents of the operator. */
  legalLinks: string
}

/** The front page without scripts; the application takes its place. */
export function StaticFrontPage({
  name,
  baseUrl,
  lead,
  instructions,
  version,
  legalLinks,
}: StaticFrontPageProps) {
  return (
    <>
      <SkipLink />
      <header class="top">
        <HomeLink name={name} />
        <nav aria-label={name}>
          {PUBLIC_LINKS.map(([href, label]) => (
            <a key={href} href={href}>
              {label}
            </a>
          ))}
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
          <p class="lead">{lead}</p>
        </div>
        <div class="stack wide without-scripts">
          <Way
            title="Browser"
            sentence="Allow JavaScript for this page, then drop a folder, files or a ZIP on it."
          />
          <Way title="Command line" sentence="Needs Node 18.18 or later." code={command(baseUrl)} />
          <Way
            title="API"
            sentence="One request publishes a tar, tar.gz or ZIP."
            code={archiveCall(baseUrl)}
          />
          <Way title="AI agent" sentence="Give this text to your coding agent." code={instructions} />
          <Proofs />
          <p>
            To keep a site, claim it before it expires: <code>{claimCommand(baseUrl)}</code>. See the{' '}
            <a href="/docs/publish">docs</a> for everything else.
          </p>
        </div>
      </main>
      <Footer name={name} version={version} links={legalLinks} />
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
