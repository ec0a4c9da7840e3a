import { useState } from 'preact/hooks'
import type { FileEntry, SiteDetails } from '../../client/wire.ts'
import { Icon } from '../kit/icon.tsx'
import type { OwnWords } from './own-words.ts'
import { ownersPictureAddress, pictureAddress, picturesOf } from './picture-address.ts'

/** What the site's owner wants to be said; null leaves it to the document. */
export interface Wish {
  title: string | null
  description: string | null
  ogImagePath: string | null
}

interface CardProps {
  site: SiteDetails
  wish: Wish
  own: OwnWords
}

/** A link to the site as a messenger shows it. */
export function Card({ site, wish, own }: CardProps) {
  const { host } = new URL(site.siteUrl)
  const description = wish.description ?? own.description
  return (
    <figure class="stack tight">
      <div class="card">
        <CardPicture site={site} picture={pictureOf(site, wish, own)} />
        <div class="card-words">
          <p class="quiet small">{host}</p>
          <p class="title">{wish.title ?? own.title ?? host}</p>
          {description && <p class="small">{description}</p>}
        </div>
      </div>
      <figcaption class="quiet small">
        {site.hasPassword
          ? 'A link to the site, if it did not ask for a password: a messenger is asked for it, too, and shows no card.'
          : 'A link to the site, as a messenger shows it.'}
      </figcaption>
    </figure>
  )
}

type Picture = { file: FileEntry } | { elsewhere: string } | undefined

function pictureOf(site: SiteDetails, wish: Wish, own: OwnWords): Picture {
  const named = (path: string) => picturesOf(site).find((file) => file.path === path)
  if (wish.ogImagePath !== null) {
    const file = named(wish.ogImagePath)
    return file && { file }
  }
  const address = own.image === null ? null : URL.parse(own.image, site.siteUrl)
  if (!address || !/^https?:$/.test(address.protocol)) return undefined
  if (address.origin !== new URL(site.siteUrl).origin) return { elsewhere: address.host }
  const file = named(pathOf(address))
  return file && { file }
}

function pathOf({ pathname }: URL): string {
  try {
    return decodeURIComponent(pathname.slice(1))
  } catch {
    return ''
  }
}

/** Nothing is loaded from elsewhere: a site's document could name anything. */
function CardPicture({ site, picture }: { site: SiteDetails; picture: Picture }) {
  if (!picture) return null
  if ('elsewhere' in picture)
    return (
      <div class="card-picture quiet small">
        <Icon name="image" size={32} />
        <span>A picture from {picture.elsewhere}</span>
      </div>
    )
  return <OwnPicture key={picture.file.path} site={site} file={picture.file} />
}

function OwnPicture({ site, file }: { site: SiteDetails; file: FileEntry }) {
  const [isBroken, break_] = useState(false)
  const address = site.hasPassword ? ownersPictureAddress(site, file) : pictureAddress(site, file)
  return (
    <div class="card-picture quiet small">
      {isBroken || !address ? (
        <>
          <Icon name="image" size={32} />
          <span>{file.path}</span>
        </>
      ) : (
        <img src={address} alt={file.path} onError={() => break_(true)} />
      )}
    </div>
  )
}
