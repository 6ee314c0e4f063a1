// Files of one's own: sent as bodies of requests, one after another, with how far they are. Follows controls.js.

const unsaid = (sentence) => sentence.replace(/^files?: /, "");
const inMB = (bytes) => `${(bytes / 1e6).toPrecision(3)} MB`;

function sendFile(file, onProgress, stop) { // gives the reference of a file, once it is kept
  return new Promise((done, failed) => {
    const request = new XMLHttpRequest();
    stop.now = () => request.abort();
    request.open("POST", `api/uploads?name=${encodeURIComponent(file.name)}`);
    request.responseType = "json";
    request.upload.addEventListener("progress", (e) => onProgress(e.loaded));
    request.addEventListener("load", () => request.status === 201 ? done(request.response.reference)
      : failed(new Error(unsaid(request.response?.detail || `${file.name} was not taken (${request.status}).`))));
    request.addEventListener("error", () => failed(new Error(`${file.name} was not taken: the connection broke.`)));
    request.addEventListener("abort", () => failed(new Error("")));
    request.send(file);
  });
}

async function sendFolder(files, references) { // gives the reference of a folder of what was sent
  const name = files[0].webkitRelativePath?.split("/")[0] || `${files[0].name.replace(/\.[^.]*$/, "")} and ${files.length - 1} more`;
  const body = JSON.stringify({ name, files: Object.fromEntries(files.map((f, i) => [f.name, references[i]])) });
  const answer = await fetch("api/uploads/folder", { method: "POST", headers: { "content-type": "application/json" }, body });
  const said = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(unsaid(said.detail || "The folder was not taken."));
  return said.reference;
}

async function send(name, files) {
  const box = $(`[data-ctl="${name}"]`);
  const large = files.find((f) => f.size > S.study.may.bytes);
  accept(name);
  if (large) return refuse(name, `${large.name} has ${inMB(large.size)}; expected at most ${inMB(S.study.may.bytes)}. A path may be any size.`);
  const total = files.reduce((sum, f) => sum + f.size, 0);
  const what = files.length === 1 ? files[0].name : `${files.length} files`;
  const stop = { now: () => {}, asked: false };
  const line = document.createElement("div");
  line.className = "as-sending";
  line.innerHTML = `<div class="as-bar" role="progressbar" aria-valuemin="0" aria-valuemax="100" aria-valuenow="0"
    aria-label="Sending ${escaped(what)}"><i></i></div><p class="as-job__line"><span></span><button class="as-btn as-btn--quiet"
    type="button">Cancel</button></p>`;
  $(".as-sending", box)?.remove();
  $(".help", box).before(line);
  $("button", line).addEventListener("click", () => { stop.asked = true; stop.now(); });
  const show = (sent) => {
    const percent = total ? Math.min(100, Math.round((100 * sent) / total)) : 0;
    $("i", line).style.width = `${percent}%`;
    $("[role=progressbar]", line).setAttribute("aria-valuenow", percent);
    $("span", line).textContent = percent < 100 ? `Sending ${what} · ${percent} %` : `Looking at ${what}`;
  };
  show(0);
  try {
    const references = [];
    let before = 0;
    for (const file of files) {
      if (stop.asked) throw new Error("");
      references.push(await sendFile(file, (sent) => show(before + sent), stop));
      before += file.size;
    }
    set({ [name]: files.length === 1 ? references[0] : await sendFolder(files, references) }, name);
  } catch (error) {
    if (error.message) refuse(name, error.message);
  } finally {
    line.remove();
  }
}

function wireFiles(box, name) {
  const file = $("input[type=file]", box);
  if (!file) return;
  const button = $(".as-btn--file", box);
  if (!S.study.may.run) {
    button.disabled = true;
    button.title = S.study.may.why;
    return;
  }
  const take = (files) => { if (files.length) send(name, [...files]); };
  button.addEventListener("click", () => file.click());
  file.addEventListener("change", () => { take(file.files); file.value = ""; });
  box.addEventListener("dragover", (e) => { e.preventDefault(); box.classList.add("as-ctl--over"); });
  box.addEventListener("dragleave", () => box.classList.remove("as-ctl--over"));
  box.addEventListener("drop", (e) => {
    e.preventDefault();
    box.classList.remove("as-ctl--over");
    take(e.dataTransfer.files);
  });
}
