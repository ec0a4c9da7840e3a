import { useEffect, useRef } from 'preact/hooks'
import type { Published } from '../../client/sdk/slipway.ts'
import { signedInAs } from '../api/session.ts'
import { useKept } from '../api/use-kept.ts'
import { Button } from '../kit/button.tsx'
import { Trouble } from '../kit/notice.tsx'
import { Loading } from '../kit/panel.tsx'
import { say } from '../kit/toast.tsx'
import { endJob, type Job } from './jobs.ts'
import { Live } from './live.tsx'
import { ProgressView } from './progress-view.tsx'
import { Publication, type Step } from './publication.ts'
import { Question } from './question.tsx'

interface PublishingProps {
  job: Job
  /** Where it is shown; taken away from there when it is over. */
  place: string
  onPublished?: ((published: Published) => void) | undefined
}

/** One drop from the first look at it to its address. */
export function Publishing({ job, place, onPublished }: PublishingProps) {
  job.publication ??= begun(job, place)
  const { publication } = job
  const step = useKept(job.step)
  const tell = useRef(onPublished)
  tell.current = onPublished
  useEffect(() => {
    if (step.at === 'live') tell.current?.(step.delivered.published)
  }, [step.at])
  useEffect(() => {
    shown.add(place)
    return () => void shown.delete(place)
  }, [place])
  const close = () => endJob(place)
  return (
    <div class="panel stack publishing">
      <p class="heard" role="status">
        {heard(step)}
      </p>
      <StepView step={step} publication={publication} onClose={close} />
    </div>
  )
}

/** Places that are on the page just now. */
const shown = new Set<string>()

/** Whoever is on another page by the time that it is live hears of it there. */
function begun(job: Job, place: string): Publication {
  const stop = job.step.listen(() => {
    const { value } = job.step
    if (value.at !== 'live') return
    stop()
    if (!shown.has(place)) say(`${new URL(value.delivered.published.siteUrl).host} is live.`)
  })
  return new Publication(job)
}

interface StepViewProps {
  step: Step
  publication: Publication
  onClose: () => void
}

function StepView({ step, publication, onClose }: StepViewProps) {
  switch (step.at) {
    case 'looking':
      return <Loading what="the list of files" />
    case 'question':
      return <Question look={step.look} publication={publication} onClose={onClose} />
    case 'reading':
    case 'uploading':
      return <ProgressView step={step} onCancel={onClose} />
    case 'live':
      return <Live step={step} destination={publication.destination} onClose={onClose} />
    case 'stopped':
      return <Stopped step={step} publication={publication} onClose={onClose} />
  }
}

function Stopped({
  step,
  publication,
  onClose,
}: Omit<StepViewProps, 'step'> & { step: Extract<Step, { at: 'stopped' }> }) {
  const { failing, again, asStranger } = step
  const isSignedIn = useKept(signedInAs) !== null
  const mayGoOn = failing.code === 'RATE_LIMITED' && asStranger
  useEffect(() => {
    if (mayGoOn && isSignedIn) publication.again()
  }, [mayGoOn, isSignedIn])
  return (
    <>
      <Trouble failing={failing} onAgain={again ? () => publication.again() : undefined}>
        {mayGoOn && (
          <p>
            With an account more is possible: <a href="/sign-in?then=/">sign in</a>, and it goes on.
          </p>
        )}
      </Trouble>
      <div class="choices">
        <Button onClick={onClose}>Choose something else</Button>
      </div>
    </>
  )
}

/** What is read out when it changes; the bar itself is too quick for that. */
function heard(step: Step): string {
  switch (step.at) {
    case 'reading':
      return 'Reading the files.'
    case 'uploading':
      return step.waiting ? '' : 'Uploading.'
    case 'live':
      return 'It is live.'
    default:
      return ''
  }
}
