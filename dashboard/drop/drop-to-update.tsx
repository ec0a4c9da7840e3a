import type { ComponentChildren } from 'preact'
import { useRef } from 'preact/hooks'
import type { Published } from '../../client/sdk/slipway.ts'
import { useKept } from '../api/use-kept.ts'
import { later } from '../app/later.tsx'
import { DropBox } from './drop-box.tsx'
import { useDropTarget } from './drop-target.ts'
import { jobAt } from './jobs.ts'
import type { Picked } from './picked.ts'

// To update a site of the account by dropping on it:
//
//   <DropToUpdate slug={slug} onPublished={reload} />          a box with buttons, for the page of a site
//   <DropOnSite slug={slug} onPublished={reload}>…</DropOnSite>  around a row or a card that takes drops, for a list
//
// Both show in their place how it goes: what has to be decided first, the bar, what went wrong, and that it is live. A
// publication goes on when its page is left, and is there again when somebody comes back. `onPublished` is called once the
// new version is live, as long as the page is shown; what the page knows under the key `sites` is forgotten by then.

interface Updated {
  slug: string
  onPublished?: ((published: Published) => void) | undefined
}

export const Publishing = later('the part that publishes', () =>
  import('./publishing.tsx').then(({ Publishing }) => Publishing),
)

export function DropToUpdate({ slug, onPublished }: Updated) {
  const job = useKept(jobAt(slug))
  const take = (picked: Picked) => begin(slug, picked)
  if (job) return <Publishing job={job} place={slug} onPublished={onPublished} />
  return <DropBox size="panel" title="Drop a folder, files or a zip to update this site" onPicked={take} />
}

export function DropOnSite({ slug, onPublished, children }: Updated & { children: ComponentChildren }) {
  const box = useRef<HTMLDivElement>(null)
  const job = useKept(jobAt(slug))
  const isOver = useDropTarget({ box, open: !job, onPicked: (picked) => begin(slug, picked) })
  return (
    <div ref={box} class={`drop-on ${isOver ? 'over' : ''}`}>
      {children}
      {job && <Publishing job={job} place={slug} onPublished={onPublished} />}
    </div>
  )
}

function begin(slug: string, picked: Picked): void {
  jobAt(slug).value = { picked, destination: { kind: 'own', slug } }
}
