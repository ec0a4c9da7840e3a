import { signedInAs } from '../api/session.ts'
import { Signal } from '../api/signal.ts'
import { showToast } from '../kit/toast.tsx'
import type { Destination } from './destination.ts'
import type { Publication, Step } from './publication.ts'
import type { Selection } from './selection.ts'

/** A drop in progress; it continues when its page is left. */
export interface Job {
  picked: Selection
  destination: Destination
  step: Signal<Step>
  /** The signed-in address when it began. */
  owner: string | null
  /** Set by the publishing module once it is loaded. */
  publication?: Publication
}

export const WAIT_FOR_UPLOAD = 'Wait until the current upload has finished.'

/** The step of no job. */
export const NOTHING = new Signal<Step>({ at: 'scanning' })

const jobs = new Map<string, Signal<Job | undefined>>()

/** The job of a place: the front page, or the page of a site. */
export function jobAt(place: string): Signal<Job | undefined> {
  const job = jobs.get(place) ?? new Signal<Job | undefined>(undefined)
  jobs.set(place, job)
  return job
}

/** Starts a job in place of an earlier one that is not busy. */
export function beginJob(place: string, picked: Selection, destination: Destination): void {
  if (isBusyAt(place)) {
    showToast(WAIT_FOR_UPLOAD)
    return
  }
  endJob(place)
  const step = new Signal<Step>({ at: 'scanning' })
  jobAt(place).value = { picked, destination, step, owner: signedInAs.value }
}

/** Ends the job of a place; a given one only while it has not been replaced by another. */
export function endJob(place: string, given?: Job): void {
  const job = jobAt(place)
  if (given && job.value !== given) return
  job.value?.publication?.cancel()
  job.value = undefined
}

/** Keeps the job of a site that was renamed, unless an upload to its new name has begun. */
export function moveJob(from: string, to: string): void {
  const { value } = jobAt(from)
  if (!value || isBusyAt(to)) return
  jobAt(to).value = value
  jobAt(from).value = undefined
}

/** Whether work is in progress that another drop must not end. */
export function isBusyAt(place: string): boolean {
  const job = jobAt(place).value
  return job !== undefined && isBusy(job.step.value)
}

export function isBusy({ at }: Step): boolean {
  return at === 'scanning' || at === 'reading' || at === 'uploading'
}

// Clears jobs for the next user. A session that expires ends nothing.
signedInAs.subscribe(() => {
  const { value: email } = signedInAs
  for (const [place, { value: job }] of jobs) {
    if (!job || job.owner === null || job.owner === email) continue
    if (email !== null || !isBusy(job.step.value)) endJob(place)
  }
})
