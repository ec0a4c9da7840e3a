import { useEffect } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { signedInAs } from '../api/session.ts'
import { useSignal } from '../api/use-signal.ts'
import { lazyComponent } from '../app/lazy-component.tsx'
import { Page } from '../app/page.tsx'
import { Publishing } from '../drop/drop-to-update.tsx'
import { Views } from '../kit/tabs.tsx'
import { Dropzone } from './dropzone.tsx'

const FromTerminal = lazyComponent('the commands', () =>
  import('./terminal-instructions.tsx').then((it) => it.TerminalInstructions),
)
const FromAgent = lazyComponent('the text', () =>
  import('./agent-instructions.tsx').then((it) => it.AgentInstructions),
)

const VIEWS = [
  { href: '/', name: 'Here' },
  { href: '/?from=terminal', name: 'From a terminal' },
  { href: '/?from=agent', name: 'From an agent' },
]

/** The front page: drop something, or publish from a terminal or an agent. */
export function HomePage() {
  const { query } = useLocation()
  const isSignedIn = useSignal(signedInAs) !== null
  useEffect(() => whenIdle(Publishing.preload), [])
  return (
    <Page title="Drop a folder, get an address.">
      <p class="lead front-lead">
        Slipway puts static sites on the web, at once and as a whole.{' '}
        {isSignedIn ? 'What you publish here belongs to your account.' : 'No account is needed to begin.'}
      </p>
      <Views label="Ways to publish" views={VIEWS} />
      {query.from === 'terminal' ? <FromTerminal /> : query.from === 'agent' ? <FromAgent /> : <Dropzone />}
    </Page>
  )
}

/** Runs after the first paint, so that a slow phone paints early. */
function whenIdle(work: () => void): () => void {
  if ('requestIdleCallback' in globalThis) {
    const handle = requestIdleCallback(work)
    return () => cancelIdleCallback(handle)
  }
  const timer = setTimeout(work, 500)
  return () => clearTimeout(timer)
}
