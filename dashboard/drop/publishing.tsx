import { useContext, useEffect, useRef } from 'preact/hooks'
import { signedInAs } from '../api/session.ts'
import { useSignal } from '../api/use-signal.ts'
import { lazyComponent } from '../app/lazy-component.tsx'
import { Button } from '../kit/button.tsx'
import { ErrorNotice } from '../kit/notice.tsx'
import { SecretList } from '../kit/secret-list.tsx'
import { Loading } from '../kit/skeleton.tsx'
import { showToast } from '../kit/toast.tsx'
import { ConfirmDrop } from './confirm-drop.tsx'
import { ConfirmRemoval } from './confirm-removal.tsx'
import { endJob, type Job } from './jobs.ts'
import { ProgressView } from './progress-view.tsx'
import { Publication, type Step } from './publication.ts'
import { IsWholePage, StepHeading } from './step-heading.tsx'

/** Loaded while the files are read: the front page needs none of it. */
const PublishedView = lazyComponent('the result', () =>
  import('./published-view.tsx').then((it) => it.PublishedView),
)

interface PublishingProps {
  job: Job
  /** The place on the page; removed when the job is done. */
  place: string
  onPublished?: (() => void) | undefined
}

/** One drop from its scan to its address. */
export function Publishing({ job, place, onPublished }: PublishingProps) {
  const isNew = !job.publication
  job.publication ??= startPublication(job, place)
  const { publication } = job
  const step = useSignal(job.step)
  const isWholePage = useContext(IsWholePage)
  const notify = useRef(onPublished)
  notify.current = onPublished
  useEffect(() => {
    if (step.at === 'live') notify.current?.()
  }, [step.at])
  useEffect(() => {
    visiblePlaces.add(place)
    return () => void visiblePlaces.delete(place)
  }, [place])
  useEffect(() => void PublishedView.preload(), [])
  const box = useRef<HTMLDivElement>(null)
  // The user may have scrolled to the row of a file.
  useEffect(() => {
    if (isNew && !isWholePage) box.current!.scrollIntoView({ block: 'nearest' })
  }, [])
  const close = () => endJob(place, job)
  return (
    <div ref={box} class={`${isWholePage ? '' : 'panel'} stack publishing`}>
      <p class="visually-hidden" role="status">
        {announce(step)}
      </p>
      <StepView
        step={step}
        publication={publication}
        onClose={close}
        onRolledBack={() => notify.current?.()}
      />
    </div>
  )
}

/** Places that are on the page now. */
const visiblePlaces = new Set<string>()

/** Users on another page are notified there when it is live. */
function startPublication(job: Job, place: string): Publication {
  const stop = job.step.subscribe(() => {
    const { value } = job.step
    if (value.at !== 'live') return
    stop()
    if (!visiblePlaces.has(place)) showToast(`${new URL(value.delivered.published.siteUrl).host} is live.`)
  })
  return new Publication(job)
}

interface StepViewProps {
  step: Step
  publication: Publication
  onClose: () => void
  onRolledBack: () => void
}

function StepView({ step, publication, onClose, onRolledBack }: StepViewProps) {
  switch (step.at) {
    case 'scanning':
      return (
        <>
          <StepHeading>Reading your files</StepHeading>
          <Loading what="the list of files" />
        </>
      )
    case 'confirming':
      return <ConfirmDrop preflight={step.preflight} publication={publication} onClose={onClose} />
    case 'replacing':
      return <ConfirmRemoval step={step} publication={publication} onClose={onClose} />
    case 'reading':
    case 'uploading':
      return <ProgressView step={step} onCancel={onClose} />
    case 'live':
      return (
        <PublishedView
          step={step}
          destination={publication.destination}
          onClose={onClose}
          onRolledBack={onRolledBack}
        />
      )
    case 'stopped':
      return <Stopped step={step} publication={publication} onClose={onClose} />
  }
}

function Stopped({
  step,
  publication,
  onClose,
}: Pick<StepViewProps, 'publication' | 'onClose'> & { step: Extract<Step, { at: 'stopped' }> }) {
  const { error, again, isAnonymous } = step
  const isSignedIn = useSignal(signedInAs) !== null
  const needsAccount = isAnonymous && error.code === 'UNAUTHORIZED'
  const canContinue = needsAccount || (isAnonymous && error.code === 'RATE_LIMITED')
  useEffect(() => {
    if (canContinue && isSignedIn) publication.retry()
  }, [canContinue, isSignedIn])
  return (
    <>
      <StepHeading>Not published yet</StepHeading>
      <ErrorNotice error={error} onRetry={again && !needsAccount ? () => publication.retry() : undefined}>
        <SecretList secrets={error.secrets} onAllow={(fingerprint) => publication.retry(fingerprint)} />
        {canContinue && (
          <p>
            <a href="/sign-in?then=/">Sign in</a>
            {!needsAccount && ' for a higher limit'} and we'll finish publishing.
          </p>
        )}
      </ErrorNotice>
      <div class="choices">
        <Button onClick={onClose}>Choose different files</Button>
      </div>
    </>
  )
}

/** Content of the live region; the progress bar changes too often for it. */
function announce(step: Step): string {
  switch (step.at) {
    case 'reading':
      return 'Reading your files.'
    case 'uploading':
      return step.waiting ? '' : 'Uploading your files.'
    case 'live':
      return 'Your site is live.'
    default:
      return ''
  }
}
