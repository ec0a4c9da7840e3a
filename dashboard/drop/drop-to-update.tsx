import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { useSignal } from '../api/use-signal.ts'
import { lazyComponent } from '../app/lazy-component.tsx'
import { DropBox } from './drop-box.tsx'
import { beginJob, jobAt } from './jobs.ts'
import { siteTarget } from './page-target.ts'
import { setElementTarget } from './window-drop.tsx'

// To update a site of the account by dropping on it:
//
//   useSiteTarget(slug, name)                                  the whole window, on every page of a site
//   <DropToUpdate slug={slug} onPublished={reload} />          a box with buttons, on the page that shows the progress
//   <DropOnSite slug={slug} name={name} onPublished={reload}>…</DropOnSite>   around a row or a card of a list
//
// The components show progress in place: findings to confirm, the progress bar, errors, the result. A publication
// continues when its page is left, and is shown again when the page is opened again. `onPublished` is called when the
// new version is live, and again when it is rolled back, only while the page is shown; the resource `sites` has been
// invalidated before.

interface DropToUpdateProps {
  slug: string
  onPublished?: (() => void) | undefined
}

export const Publishing = lazyComponent('the part that publishes', () =>
  import('./publishing.tsx').then(({ Publishing }) => Publishing),
)

export function DropToUpdate({ slug, onPublished }: DropToUpdateProps) {
  const job = useSignal(jobAt(slug))
  if (job) return <Publishing key={job} job={job} place={slug} onPublished={onPublished} />
  return (
    <DropBox
      size="panel"
      title="Drop a folder, files or a ZIP to update this site"
      phoneTitle="Choose files to update this site"
      onPicked={(picked) => beginJob(slug, picked, { kind: 'own', slug })}
    />
  )
}

interface DropOnSiteProps extends DropToUpdateProps {
  name: string
  /** Whether it accepts files. */
  canChange: boolean
  children: ComponentChildren
}

export function DropOnSite({ slug, name, canChange, onPublished, children }: DropOnSiteProps) {
  const box = useRef<HTMLDivElement>(null)
  const job = useSignal(jobAt(slug))
  useEffect(
    () => (canChange ? setElementTarget(box.current!, siteTarget(slug, name)) : undefined),
    [slug, name, canChange],
  )
  return (
    <div ref={box} class="drop-on">
      {children}
      {job && <Publishing key={job} job={job} place={slug} onPublished={onPublished} />}
    </div>
  )
}
