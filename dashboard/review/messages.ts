import type { ReviewPlace } from '../../protocol/api/reviews.schema.ts'

// Between the review page and the script in the frame (docs/decisions/051-review.md), over one port. Names, comments,
// tokens and decisions never pass it.

/** A thread as the frame knows it. */
export interface Mark extends Pick<ReviewPlace, 'selector' | 'text' | 'before' | 'after'> {
  id: string
  /** On the mark. */
  label: string
}

export type ToFrame =
  | { type: 'mode'; commenting: boolean }
  /** Those of the page that the frame shows. */
  | { type: 'marks'; marks: Mark[] }
  | { type: 'show'; id: string }

export type FromFrame =
  | { type: 'ready'; path: string }
  | { type: 'place'; place: ReviewPlace }
  | { type: 'placed'; placed: string[]; missing: string[] }
  | { type: 'open'; id: string }
  /** The user has ended the comment mode. */
  | { type: 'cancel' }
