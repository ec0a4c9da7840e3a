import { Kept } from '../api/kept.ts'
import type { Destination } from './destination.ts'
import type { Picked } from './picked.ts'
import type { Publication } from './publication.ts'

/** A drop and what becomes of it; it goes on when its page is left for another one. */
export interface Job {
  picked: Picked
  destination: Destination
  publication?: Publication
}

const jobs = new Map<string, Kept<Job | undefined>>()

/** What is going on at a place of the page: the front page's, or that of a site. */
export function jobAt(place: string): Kept<Job | undefined> {
  const job = jobs.get(place) ?? new Kept<Job | undefined>(undefined)
  jobs.set(place, job)
  return job
}
