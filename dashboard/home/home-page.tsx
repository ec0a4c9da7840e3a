import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { signedInAs } from '../api/session.ts'
import { useSignal } from '../api/use-signal.ts'
import { lazyComponent } from '../app/lazy-component.tsx'
import { Page } from '../app/page.tsx'
import type { AnonymousSite } from '../drop/anonymous-sites.ts'
import { Publishing } from '../drop/drop-to-update.tsx'
import { endJob, isBusy, type Job, jobAt } from '../drop/jobs.ts'
import { FRONT_PLACE } from '../drop/page-target.ts'
import { IsWholePage } from '../drop/step-heading.tsx'
import { Views } from '../kit/tabs.tsx'
import { Dropzone } from './dropzone.tsx'
import { DropAnimation, HEADLINE, LEAD, Proofs } from './front-static.tsx'
import { RecentSites } from './recent-sites.tsx'

const FromTerminal = lazyComponent('the commands', () =>
  import('./terminal-instructions.tsx').then((it) => it.TerminalInstructions),
)
const FromApi = lazyComponent('the requests', () =>
  import('./api-instructions.tsx').then((it) => it.ApiInstructions),
)
const FromAgent = lazyComponent('the text', () =>
  import('./agent-instructions.tsx').then((it) => it.AgentInstructions),
)

const VIEWS = [
  { href: '/', name: 'Browser' },
  { href: '/?from=terminal', name: 'Command line' },
  { href: '/?from=agent', name: 'AI agent' },
  { href: '/?from=api', name: 'API' },
]

/** The front page: what the service does and how to publish; in its place the publication that was begun there. */
export function HomePage() {
  const job = useSignal(jobAt(FRONT_PLACE))
  /** The anonymous site that the next drop updates. */
  const [updated, update] = useState<AnonymousSite | undefined>(undefined)
  useEffect(() => whenIdle(Publishing.preload), [])
  useEffect(() => {
    if (job) update(undefined)
  }, [job])
  const updateNext = (site: AnonymousSite) => {
    endJob(FRONT_PLACE)
    update(site)
    scrollTo({ top: 0 })
  }
  return job ? (
    <PublicationPage key={job} job={job} onUpdate={updateNext} />
  ) : (
    <FrontPage updated={updated} onUpdate={update} />
  )
}

function PublicationPage({ job, onUpdate }: { job: Job; onUpdate: (site: AnonymousSite) => void }) {
  const step = useSignal(job.step)
  return (
    <main id="main" tabIndex={-1} class="page stack wide">
      <IsWholePage.Provider value={true}>
        <Publishing job={job} place={FRONT_PLACE} />
      </IsWholePage.Provider>
      {!isBusy(step) && (
        <RecentSites
          onUpdate={onUpdate}
          below={step.at === 'live' ? step.delivered.published.slug : undefined}
        />
      )}
    </main>
  )
}

interface FrontPageProps {
  updated: AnonymousSite | undefined
  onUpdate: (site: AnonymousSite | undefined) => void
}

function FrontPage({ updated, onUpdate }: FrontPageProps) {
  const { query } = useLocation()
  const isSignedIn = useSignal(signedInAs) !== null
  return (
    <Page
      title={HEADLINE}
      actions={<DropAnimation />}
      below={<p class="lead">{isSignedIn ? 'Sites you publish here are saved to your account.' : LEAD}</p>}
    >
      <Views label="Ways to publish" views={VIEWS} />
      {query.from === 'terminal' ? (
        <FromTerminal />
      ) : query.from === 'agent' ? (
        <FromAgent />
      ) : query.from === 'api' ? (
        <FromApi />
      ) : (
        <>
          <Dropzone updated={updated} onCancel={() => onUpdate(undefined)} />
          <RecentSites onUpdate={onUpdate} />
        </>
      )}
      {!isSignedIn && <Proofs />}
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
