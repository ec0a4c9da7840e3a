import { useEffect } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { signedInAs } from '../api/session.ts'
import { useKept } from '../api/use-kept.ts'
import { later } from '../app/later.tsx'
import { Page } from '../app/page.tsx'
import { Publishing } from '../drop/drop-to-update.tsx'
import { Views } from '../kit/tabs.tsx'
import { DropPlace } from './drop-place.tsx'

const FromTerminal = later('the commands', () => import('./from-terminal.tsx').then((it) => it.FromTerminal))
const FromAgent = later('the text', () => import('./from-agent.tsx').then((it) => it.FromAgent))

const VIEWS = [
  { href: '/', name: 'Here' },
  { href: '/?from=terminal', name: 'From a terminal' },
  { href: '/?from=agent', name: 'From an agent' },
]

/** The way in: drop something, or learn how a terminal or an agent publishes here. */
export function FrontPage() {
  const { query } = useLocation()
  const isSignedIn = useKept(signedInAs) !== null
  useEffect(() => whenIdle(Publishing.preload), [])
  return (
    <Page title="Drop a folder, get an address.">
      <p class="lead front-lead">
        Slipway puts static sites on the web, at once and as a whole.{' '}
        {isSignedIn ? 'What you publish here belongs to your account.' : 'No account is needed to begin.'}
      </p>
      <Views label="Ways to publish" views={VIEWS} />
      {query.from === 'terminal' ? <FromTerminal /> : query.from === 'agent' ? <FromAgent /> : <DropPlace />}
    </Page>
  )
}

/** After the first paint, so that a slow phone is not kept from that. */
function whenIdle(work: () => void): () => void {
  if ('requestIdleCallback' in globalThis) {
    const handle = requestIdleCallback(work)
    return () => cancelIdleCallback(handle)
  }
  const timer = setTimeout(work, 500)
  return () => clearTimeout(timer)
}
