import { useEffect } from 'preact/hooks'
import { Signal } from '../api/signal.ts'
import type { AnonymousSite } from './anonymous-sites.ts'
import type { Destination } from './destination.ts'

/** What a drop or a paste does. */
export interface DropTarget {
  /** The place of its job. */
  place: string
  /** The page that shows the place; undefined to stay on the page. */
  path?: string
  destination: Destination
  /** Shown while files are dragged. */
  label: string
}

export const FRONT_PLACE = 'front'

const NEW_SITE: DropTarget = {
  place: FRONT_PLACE,
  path: '/',
  destination: { kind: 'new' },
  label: 'Publish as a new site',
}

/** The target of the whole window: a new site, unless the shown page has another one. */
export const pageTarget = new Signal<DropTarget>(NEW_SITE)

/** A drop on a page of the account's site is its next version, unless it cannot be changed. */
export function useSiteTarget(slug: string, name: string, canChange: boolean): void {
  useEffect(
    () => (canChange ? setPageTarget({ ...siteTarget(slug, name), path: `/sites/${slug}` }) : undefined),
    [slug, name, canChange],
  )
}

/** Sets the target of the window. Returns a function that resets it. */
export function setPageTarget(target: DropTarget): () => void {
  pageTarget.value = target
  return () => {
    if (pageTarget.value === target) pageTarget.value = NEW_SITE
  }
}

export function siteTarget(slug: string, name: string): DropTarget {
  return { place: slug, destination: { kind: 'own', slug }, label: `Publish as new version of ${name}` }
}

/** The next version of a site without an owner. The front page shows the progress. */
export function anonymousTarget(site: AnonymousSite): DropTarget {
  return {
    place: FRONT_PLACE,
    path: '/',
    destination: { kind: 'anonymous', site },
    label: `Publish as new version of ${site.title ?? new URL(site.siteUrl).host}`,
  }
}
