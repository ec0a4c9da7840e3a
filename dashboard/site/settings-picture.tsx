import { useRef, useState } from 'preact/hooks'
import type { FileEntry } from '../../protocol/api/fields.schema.ts'
import type { SiteDetails } from '../../protocol/api/sites.schema.ts'
import { pluralize } from '../../protocol/format.ts'
import { useAction } from '../api/action.ts'
import { Button } from '../kit/button.tsx'
import { Dialog } from '../kit/dialog.tsx'
import { TextField } from '../kit/field.tsx'
import { Icon } from '../kit/icon.tsx'
import { ErrorNotice } from '../kit/notice.tsx'
import { findImages, isPreviewType, pictureUrl } from './picture-address.ts'
import { findPictureError, UPLOADABLE_TYPES, uploadPicture } from './upload-picture.ts'

interface PictureProps {
  site: SiteDetails
  /** Path of the selected one. */
  value: string | null
  /** Whether the document names an image. */
  hasOwn: boolean
  onChange: (path: string | null) => void
  /** Called when a version with an uploaded image is live. */
  onPublished: () => void
}

/** Selects the image of the link preview: one of the site's images, or an uploaded one. */
export function PictureChoice({ site, value, hasOwn, onChange, onPublished }: PictureProps) {
  const [isChoosing, setChoosing] = useState(false)
  const pictures = findImages(site).filter(isPreviewType)
  const end = (path: string) => {
    onChange(path)
    setChoosing(false)
  }
  return (
    <div class="field">
      <h3>Image</h3>
      <p class={value === null ? 'quiet' : 'path'}>
        {value ?? (hasOwn ? 'Using the image from your HTML' : 'No image in your HTML')}
      </p>
      {value !== null && !site.files.some(({ path }) => path === value) && (
        <p class="wrong small">This file is no longer part of the site, so link previews have no image.</p>
      )}
      <div class="choices">
        {pictures.length > 0 && (
          <Button icon="image" onClick={() => setChoosing(true)}>
            Choose image
          </Button>
        )}
        {site.currentVersionId !== null && (
          <UploadPicture
            site={site}
            onUploaded={() => onChange(site.viewer.ogImagePath)}
            onPublished={onPublished}
          />
        )}
        {value !== null && (
          <Button variant="link" onClick={() => onChange(null)}>
            {hasOwn ? 'Use the image from your HTML' : 'Remove image'}
          </Button>
        )}
      </div>
      {isChoosing && (
        <Pictures
          site={site}
          pictures={pictures}
          chosen={value}
          onChoose={end}
          onClose={() => setChoosing(false)}
        />
      )}
    </div>
  )
}

interface UploadPictureProps {
  site: SiteDetails
  /** Called before the page knows the new version. */
  onUploaded: () => void
  onPublished: () => void
}

function UploadPicture({ site, onUploaded, onPublished }: UploadPictureProps) {
  const input = useRef<HTMLInputElement>(null)
  const [refusal, refuse] = useState<string | undefined>(undefined)
  const upload = useAction(async (picture: File) => {
    const error = await findPictureError(picture)
    refuse(error)
    if (error) return
    let isUploaded = false
    await uploadPicture(site, picture, () => {
      // Not again after an undo.
      if (!isUploaded) onUploaded()
      isUploaded = true
      onPublished()
    })
  })
  const take = ({ currentTarget }: { currentTarget: HTMLInputElement }) => {
    const [picture] = currentTarget.files ?? []
    if (picture) void upload(picture)
    currentTarget.value = ''
  }
  return (
    <>
      <Button icon="upload" busy={upload.busy} onClick={() => input.current!.click()}>
        Upload image
      </Button>
      <input
        ref={input}
        type="file"
        hidden
        accept={UPLOADABLE_TYPES}
        aria-label="Link preview image"
        onChange={take}
      />
      <p class="wrong small" role="alert">
        {refusal}
      </p>
      <ErrorNotice error={upload.error} />
    </>
  )
}

interface PicturesProps {
  site: SiteDetails
  pictures: FileEntry[]
  chosen: string | null
  onChoose: (path: string) => void
  onClose: () => void
}

/** Number of images loaded and displayed per page. */
const PICTURES_PER_PAGE = 12

function Pictures({ site, pictures, chosen, onChoose, onClose }: PicturesProps) {
  const [sought, seek] = useState('')
  const [shown, show] = useState(PICTURES_PER_PAGE)
  const found = pictures.filter(({ path }) => path.toLowerCase().includes(sought.trim().toLowerCase()))
  return (
    <Dialog title="Choose image" onClose={onClose}>
      {pictures.length > PICTURES_PER_PAGE && (
        <TextField label="Search by name" type="search" value={sought} onWrite={seek} />
      )}
      <p class="quiet small" role="status">
        {pluralize(found.length, 'image')}
        {site.hasPassword && ". Thumbnails aren't shown for password-protected sites."}
      </p>
      <ul class="pictures">
        {found.slice(0, shown).map((file) => (
          <li key={file.path}>
            <button type="button" aria-pressed={file.path === chosen} onClick={() => onChoose(file.path)}>
              <Thumbnail address={pictureUrl(site, file)} />
              <span class="small">{file.path}</span>
            </button>
          </li>
        ))}
      </ul>
      <div class="choices">
        {found.length > shown && <Button onClick={() => show(shown + PICTURES_PER_PAGE)}>Show more</Button>}
        <Button onClick={onClose}>Cancel</Button>
      </div>
    </Dialog>
  )
}

function Thumbnail({ address }: { address: string | undefined }) {
  const [isBroken, break_] = useState(false)
  if (!address || isBroken) return <Icon name="image" size={32} />
  return <img src={address} alt="" loading="lazy" onError={() => break_(true)} />
}
