// Images and text files that are sent with a chat message. The server decides by their bytes what they are.

export interface ChatFile {
  id: number;
  name: string;
  size: number;
  /** The type of an image that can be shown, as the browser guesses it. Empty: the file is only named. */
  imageType: string;
  /** The bytes as base64. */
  data: string;
}

export const MAX_FILES = 10;
export const MAX_FILE_BYTES = 3_900_000;
const IMAGE_TYPE = /^image\/(png|jpeg|gif|webp)$/;
let lastId = 0;

/** Read a file as base64. */
export async function readChatFile(file: File): Promise<ChatFile> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let binary = '';
  for (let start = 0; start < bytes.length; start += 32_768) {
    binary += String.fromCharCode(...bytes.subarray(start, start + 32_768));
  }
  const imageType = IMAGE_TYPE.test(file.type) ? file.type : '';
  return { id: ++lastId, name: file.name || 'image', size: file.size, imageType, data: btoa(binary) };
}

/** Return the files that may be added to those that are attached, and those that are too many or too large. */
export function selectFiles(attached: number, files: File[]): { accepted: File[]; rejected: File[] } {
  const accepted: File[] = [];
  const rejected: File[] = [];
  for (const file of files) {
    const fits = file.size <= MAX_FILE_BYTES && attached + accepted.length < MAX_FILES;
    (fits ? accepted : rejected).push(file);
  }
  return { accepted, rejected };
}
