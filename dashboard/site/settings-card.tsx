import { useState } from 'preact/hooks'
import type { FileEntry } from '../../protocol/api/fields.schema.ts'
import type { SiteDetails } from '../../protocol/api/sites.schema.ts'
import { Icon } from '../kit/icon.tsx'
import type { DocumentMetadata } from './document-metadata.ts'
import { findImages, isPreviewType, ownerPictureUrl, pictureUrl } from './picture-address.ts'

/** The site's own metadata; null keeps that of the document. */
export interface MetadataDraft {
  title: string | null
  description: string | null
  ogImagePath: string | null
}

interface CardProps {
  site: SiteDetails
  metadata: MetadataDraft
  own: DocumentMetadata
}

/** A link preview as a messenger shows it. */
export function Card({ site, metadata, own }: CardProps) {
  const { host } = new URL(site.siteUrl)
  const description = metadata.description ?? own.description
  const picture = resolvePicture(site, metadata, own)
  return (
    <figure class="stack tight">
      <div class="card">
        <CardPicture site={site} picture={picture} />
        <div class="card-words">
          <p class="quiet small">{host}</p>
          <p class="title">{metadata.title ?? own.title ?? host}</p>
          {description && <p class="small">{description}</p>}
        </div>
      </div>
      {site.hasPassword && (
        <figcaption class="quiet small">
          Link previews aren't shown while the site is password-protected.
        </figcaption>
      )}
      {picture && 'file' in picture && !isPreviewType(picture.file) && (
        <p class="warn small">
          Most apps don't show {picture.file.path.endsWith('.svg') ? 'SVG' : 'this kind of'} images in link
          previews. Use PNG, JPEG or WebP.
        </p>
      )}
    </figure>
  )
}

type Picture = { file: FileEntry } | { elsewhere: string } | undefined

function resolvePicture(site: SiteDetails, metadata: MetadataDraft, own: DocumentMetadata): Picture {
  const named = (path: string) => findImages(site).find((file) => file.path === path)
  if (metadata.ogImagePath !== null) {
    const file = named(metadata.ogImagePath)
    return file && { file }
  }
  const address = own.image === null ? null : URL.parse(own.image, site.siteUrl)
  if (!address || !/^https?:$/.test(address.protocol)) return undefined
  if (address.origin !== new URL(site.siteUrl).origin) return { elsewhere: address.host }
  const file = named(urlPath(address))
  return file && { file }
}

function urlPath({ pathname }: URL): string {
  try {
    return decodeURIComponent(pathname.slice(1))
  } catch {
    return ''
  }
}

/** Loads nothing from other origins: a document could name any. */
function CardPicture({ site, picture }: { site: SiteDetails; picture: Picture }) {
  if (!picture) return null
  if ('elsewhere' in picture)
    return (
      <div class="card-picture quiet small">
        <Icon name="image" size={32} />
        <span>Image from {picture.elsewhere}</span>
      </div>
    )
  return <OwnPicture key={picture.file.path} site={site} file={picture.file} />
}

/** The size in pixels from which previews show a large image. */
const LARGE = { width: 1200, height: 630 }

function OwnPicture({ site, file }: { site: SiteDetails; file: FileEntry }) {
  const [isBroken, break_] = useState(false)
  const [size, setSize] = useState<{ width: number; height: number } | undefined>(undefined)
  const isSmall = size && isPreviewType(file) && (size.width < LARGE.width || size.height < LARGE.height)
  const address = site.hasPassword ? ownerPictureUrl(site, file) : pictureUrl(site, file)
  return (
    <>
      <div class="card-picture quiet small">
        {isBroken || !address ? (
          <>
            <Icon name="image" size={32} />
            <span>{file.path}</span>
          </>
        ) : (
          <img
            src={address}
            alt={file.path}
            onError={() => break_(true)}
            onLoad={({ currentTarget: { naturalWidth, naturalHeight } }) =>
              setSize({ width: naturalWidth, height: naturalHeight })
            }
          />
        )}
      </div>
      {isSmall && (
        <p class="card-warning warn small">
          {`${size.width} × ${size.height} pixels. Use at least ${LARGE.width} × ${LARGE.height} for a large preview.`}
        </p>
      )}
    </>
  )
}
