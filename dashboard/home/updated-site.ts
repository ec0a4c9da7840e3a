import { Signal } from '../api/signal.ts'
import type { AnonymousSite } from '../drop/anonymous-sites.ts'

/** The site without an owner that the next drop on the front page updates; undefined for a new site. */
export const updatedSite = new Signal<AnonymousSite | undefined>(undefined)
