import { formatBytes, formatDuration, formatNumber, pluralize } from '../../protocol/format.ts'
import { Button } from '../kit/button.tsx'
import { Notice } from '../kit/notice.tsx'
import { Bar } from '../kit/panel.tsx'
import type { Step, Waiting } from './publication.ts'
import { StepHeading } from './step-heading.tsx'

function describeWaiting(waiting: Waiting): string {
  if (waiting === 'server') return 'The server is busy. The upload resumes in a moment.'
  return navigator.onLine
    ? "Can't reach the server. The upload resumes when it responds."
    : "You're offline. The upload resumes when you're back."
}

interface ProgressViewProps {
  step: Extract<Step, { at: 'reading' | 'uploading' }>
  onCancel: () => void
}

/** Progress in files, bytes and time. */
export function ProgressView({ step, onCancel }: ProgressViewProps) {
  const { progress, secondsLeft } = step
  const { files, filesDone, bytes, bytesDone } = progress
  const verb = step.at === 'reading' ? 'Reading' : 'Uploading'
  const share = bytes > 0 ? bytesDone / bytes : files > 0 ? filesDone / files : 1
  const done =
    files === 0 ? 'all files are on the server' : `${formatNumber(filesDone)} of ${pluralize(files, 'file')}`
  const weight = files === 0 ? '' : `, ${formatBytes(bytesDone)} of ${formatBytes(bytes)}`
  const left = secondsLeft === undefined ? '' : `about ${formatDuration(secondsLeft)} left`
  return (
    <>
      <StepHeading>{verb} your files</StepHeading>
      <Bar label={verb} share={share} text={done + weight} />
      <div class="progress-words">
        <span>{done + weight}</span>
        <span>{left}</span>
      </div>
      {step.at === 'uploading' && step.waiting && (
        <Notice tone="warn" title={describeWaiting(step.waiting)} />
      )}
      <div class="choices">
        <Button onClick={onCancel}>Cancel</Button>
      </div>
    </>
  )
}
