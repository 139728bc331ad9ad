// SPDX-License-Identifier: GPL-2.0
#include "tests/sanitized/files.h"

#include "corpus/corpus.h"
#include "perfdata/io.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include <cstdlib>

using namespace perfdata;

Scratch::Scratch()
{
	std::string name = (std::filesystem::temp_directory_path() / "bid-tests.XXXXXX").string();

	if (!mkdtemp(name.data()))
		std::abort();
	path_ = name;
}

Scratch::~Scratch()
{
	std::filesystem::remove_all(path_);
}

bid::Path Scratch::write(const std::string &name, const Buffer &content) const
{
	overwrite_file(path_ / name, content);
	return path_ / name;
}

namespace {

// The file with other records: what stands behind them moves.
Buffer with_data(const File &f, const Buffer &records)
{
	auto all = f.all().span();
	auto begin = all.begin() + static_cast<ptrdiff_t>(f.data().offset);
	auto end = begin + static_cast<ptrdiff_t>(f.data().size);
	Buffer out(all.begin(), begin);

	out.insert(out.end(), records.begin(), records.end());
	if (f.pipe())
		return out;

	uint64_t table = out.size();
	int64_t shift = static_cast<int64_t>(records.size()) - static_cast<int64_t>(f.data().size);

	out.insert(out.end(), end, all.end());
	put(out, FH_DATA + 8, 8, records.size(), f.order());
	for (const auto &[bit, section] : f.features()) {
		put(out, table, 8, section.offset + static_cast<uint64_t>(shift), f.order());
		table += SECTION_SIZE;
	}
	return out;
}

} // namespace

Buffer compressed(const Buffer &file, size_t chunk, bool old)
{
	File f = File::parse(file);
	auto data = f.all().slice(f.data().offset, f.data().size).span();
	ZSTD_CStream *stream = ZSTD_createCStream();
	Buffer records;

	for (size_t at = 0; at < data.size(); at += chunk) {
		std::vector<uint8_t> packed(ZSTD_compressBound(chunk) + 64);
		ZSTD_inBuffer in{data.data() + at, std::min(chunk, data.size() - at), 0};
		ZSTD_outBuffer out{packed.data(), packed.size(), 0};

		EXPECT_EQ(ZSTD_compressStream2(stream, &out, &in, ZSTD_e_flush), 0U);
		packed.resize(out.pos);

		size_t padded = old ? packed.size() : (packed.size() + 7) / 8 * 8;

		append(records, 4, old ? RECORD_COMPRESSED : RECORD_COMPRESSED2, f.order());
		append(records, 2, 0, f.order());
		append(records, 2, RECORD_HEADER_SIZE + (old ? 0 : 8) + padded, f.order());
		if (!old)
			append(records, 8, packed.size(), f.order());
		packed.resize(padded);
		records.insert(records.end(), packed.begin(), packed.end());
	}
	ZSTD_freeCStream(stream);
	return with_data(f, records);
}

Buffer without(const Buffer &file, size_t number)
{
	File f = File::parse(file);
	Buffer records;

	for (const Record &r : f.records())
		if (number-- != 0)
			records.insert(records.end(), r.bytes.span().begin(), r.bytes.span().end());
	return with_data(f, records);
}

void split(const Scratch &to, const Buffer &file)
{
	File f = File::parse(file);
	Buffer parts[3];
	size_t number = 0;

	for (const Record &r : f.records()) {
		Buffer &part = parts[r.type() >= RECORD_USER_START ? 0 : 1 + number++ % 2];

		if (r.type() == RECORD_FINISHED_ROUND && !parts[0].empty())
			continue;
		part.insert(part.end(), r.bytes.span().begin(), r.bytes.span().end());
	}
	to.write("data", with_data(f, parts[0]));
	to.write("data.0", parts[1]);
	to.write("data.1", parts[2]);
}

Said said(const std::function<int(std::FILE *)> &command)
{
	char *text = nullptr;
	size_t size = 0;
	std::FILE *out = open_memstream(&text, &size);
	Said s;

	try {
		s.status = command(out);
	} catch (...) {
		std::fclose(out);
		std::free(text);
		throw;
	}
	std::fclose(out);
	s.text.assign(text, size);
	std::free(text);
	return s;
}
