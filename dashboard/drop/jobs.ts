import { Kept } from '../api/kept.ts'
import type { Destination } from './destination.ts'
import type { Picked } from './picked.ts'
import type { Publication, Step } from './publication.ts'

/** A drop and what becomes of it; it goes on when its page is left for another one. */
export interface Job {
  picked: Picked
  destination: Destination
  step: Kept<Step>
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
  jobAt(place).value = { picked, destination, step: new Kept<Step>({ at: 'looking' }) }
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
