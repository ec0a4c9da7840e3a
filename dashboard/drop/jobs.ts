import { Kept } from '../api/kept.ts'
import { signedInAs } from '../api/session.ts'
import type { Destination } from './destination.ts'
import type { Picked } from './picked.ts'
import type { Publication, Step } from './publication.ts'

/** A drop and what becomes of it; it goes on when its page is left for another one. */
export interface Job {
  picked: Picked
  destination: Destination
  step: Kept<Step>
  /** Who was signed in when it began. */
  owner: string | null
  /** Made by the part that publishes, once that is here. */
  publication?: Publication
}

/** The step of no job. */
export const NOTHING = new Kept<Step>({ at: 'looking' })

const jobs = new Map<string, Kept<Job | undefined>>()

/** What is going on at a place of the page: the front page's, or that of a site. */
export function jobAt(place: string): Kept<Job | undefined> {
  const job = jobs.get(place) ?? new Kept<Job | undefined>(undefined)
  jobs.set(place, job)
  return job
}

/** Begins, in place of what was there before. */
export function beginJob(place: string, picked: Picked, destination: Destination): void {
  endJob(place)
  const step = new Kept<Step>({ at: 'looking' })
  jobAt(place).value = { picked, destination, step, owner: signedInAs.value }
}

export function endJob(place: string): void {
  const job = jobAt(place)
  job.value?.publication?.cancel()
  job.value = undefined
}

/** Whether something goes on by itself, which another drop must not end. */
export function isBusy({ at }: Step): boolean {
  return at === 'looking' || at === 'reading' || at === 'uploading'
}

// What somebody published is not there for the next one who signs in. A session that ends in the middle ends nothing.
signedInAs.listen(() => {
  const { value: email } = signedInAs
  for (const [place, { value: job }] of jobs) {
    if (!job || job.owner === null || job.owner === email) continue
    if (email !== null || !isBusy(job.step.value)) endJob(place)
  }
})
