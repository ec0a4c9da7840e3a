import type { ComponentChildren } from 'preact'
import { useRef } from 'preact/hooks'
import type { Published } from '../../client/sdk/slipway.ts'
import { useSignal } from '../api/use-signal.ts'
import { lazyComponent } from '../app/lazy-component.tsx'
import { DropBox } from './drop-box.tsx'
import { useDropTarget } from './drop-target.ts'
import { beginJob, isBusy, jobAt, NOTHING } from './jobs.ts'
import type { Selection } from './selection.ts'

// To update a site of the account by dropping on it:
//
//   <DropToUpdate slug={slug} onPublished={reload} />          a box with buttons, for the page of a site
//   <DropOnSite slug={slug} onPublished={reload}>…</DropOnSite>  around a row or a card that takes drops, for a list
//
// Both show progress in place: findings to confirm, the progress bar, errors, the result. A publication continues
// when its page is left, and is shown again when the page is opened again. `onPublished` is called once the new
// version is live, only while the page is shown; the resource `sites` has been invalidated before.

interface DropToUpdateProps {
  slug: string
  onPublished?: ((published: Published) => void) | undefined
}

export const Publishing = lazyComponent('the part that publishes', () =>
  import('./publishing.tsx').then(({ Publishing }) => Publishing),
)

export function DropToUpdate({ slug, onPublished }: DropToUpdateProps) {
  const { job, box, isOver, take } = useJob(slug)
  return (
    <div ref={box} class={job && isOver ? 'drop-on over' : 'drop-on'}>
      {job ? (
        <Publishing key={job} job={job} place={slug} onPublished={onPublished} />
      ) : (
        <DropBox
          size="panel"
          title="Drop a folder, files or a zip to update this site"
          phoneTitle="Choose what to update this site with"
          isOver={isOver}
          onPicked={take}
        />
      )}
    </div>
  )
}

export function DropOnSite({
  slug,
  onPublished,
  children,
}: DropToUpdateProps & { children: ComponentChildren }) {
  const { job, box, isOver } = useJob(slug)
  return (
    <div ref={box} class={isOver ? 'drop-on over' : 'drop-on'}>
      {children}
      {job && <Publishing key={job} job={job} place={slug} onPublished={onPublished} />}
    </div>
  )
}

function useJob(slug: string) {
  const box = useRef<HTMLDivElement>(null)
  const job = useSignal(jobAt(slug))
  const step = useSignal(job?.step ?? NOTHING)
  const take = (picked: Selection) => beginJob(slug, picked, { kind: 'own', slug })
  const isOver = useDropTarget({ box, open: !job || !isBusy(step), onPicked: take })
  return { job, box, isOver, take }
}
