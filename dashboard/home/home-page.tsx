import { useEffect } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { frontLead } from '../../protocol/front-lead.ts'
import { signedInAs } from '../api/session.ts'
import { settings } from '../api/settings.ts'
import { useSignal } from '../api/use-signal.ts'
import { lazyComponent } from '../app/lazy-component.tsx'
import { Page } from '../app/page.tsx'
import { Publishing } from '../drop/drop-to-update.tsx'
import { isBusy, type Job, jobAt } from '../drop/jobs.ts'
import { FRONT_PLACE } from '../drop/page-target.ts'
import { IsWholePage } from '../drop/step-heading.tsx'
import { Views } from '../kit/tabs.tsx'
import { Dropzone } from './dropzone.tsx'
import { DropAnimation, HEADLINE, Proofs } from './front-static.tsx'
import { RecentSites } from './recent-sites.tsx'
import { updatedSite } from './updated-site.ts'

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
  useEffect(() => whenIdle(Publishing.preload), [])
  useEffect(() => {
    if (job) updatedSite.value = undefined
  }, [job])
  useEffect(
    () => () => {
      updatedSite.value = undefined
    },
    [],
  )
  return job ? <PublicationPage key={job} job={job} /> : <FrontPage />
}

function PublicationPage({ job }: { job: Job }) {
  const step = useSignal(job.step)
  return (
    <main id="main" tabIndex={-1} class="page stack wide">
      <IsWholePage.Provider value={true}>
        <Publishing job={job} place={FRONT_PLACE} />
      </IsWholePage.Provider>
      {!isBusy(step) && (
        <RecentSites below={step.at === 'live' ? step.delivered.published.slug : undefined} />
      )}
    </main>
  )
}

function FrontPage() {
  const { query } = useLocation()
  const isSignedIn = useSignal(signedInAs) !== null
  return (
    <Page
      title={HEADLINE}
      actions={<DropAnimation />}
      below={
        <p class="lead">
          {isSignedIn
            ? 'Sites you publish here are saved to your account.'
            : frontLead(settings.anonymousPublishing)}
        </p>
      }
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
          <Dropzone />
          <RecentSites />
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
