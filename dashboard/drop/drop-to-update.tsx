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
//   <SitePublication slug={slug} onPublished={reload} />       only the progress
//   <DropOnSite slug={slug} name={name} onPublished={reload}>…</DropOnSite>   around a row or a card of a list
//
// The components show progress in place: findings to confirm, the progress bar, errors, the result. A publication
// continues when its page is left, and is shown again when the page is opened again. `onPublished` is called when the
// new version is live, and again when it is rolled back, only while the page is shown; the resource `sites` has been
// invalidated before.

interface SitePublicationProps {
  slug: string
  onPublished?: (() => void) | undefined
  /** Shown while nothing is published. */
  children?: ComponentChildren
}

export const Publishing = lazyComponent('the part that publishes', () =>
  import('./publishing.tsx').then(({ Publishing }) => Publishing),
)

/** What is being published to a site. */
export function SitePublication({ slug, onPublished, children }: SitePublicationProps) {
  const job = useSignal(jobAt(slug))
  return job ? <Publishing key={job} job={job} place={slug} onPublished={onPublished} /> : children
}

export function DropToUpdate({ slug, onPublished }: Omit<SitePublicationProps, 'children'>) {
  return (
    <SitePublication slug={slug} onPublished={onPublished}>
      <DropBox
        size="panel"
        title="Drop a folder, files or a ZIP to update this site"
        phoneTitle="Choose files to update this site"
        onPicked={(picked) => beginJob(slug, picked, { kind: 'own', slug })}
      />
    </SitePublication>
  )
}

interface DropOnSiteProps extends SitePublicationProps {
  name: string
  /** Whether it accepts files. */
  canChange: boolean
}

export function DropOnSite({ slug, name, canChange, onPublished, children }: DropOnSiteProps) {
  const box = useRef<HTMLDivElement>(null)
  useEffect(
    () => (canChange ? setElementTarget(box.current!, siteTarget(slug, name)) : undefined),
    [slug, name, canChange],
  )
  return (
    <div ref={box} class="drop-on">
      {children}
      <SitePublication slug={slug} onPublished={onPublished} />
    </div>
  )
}
